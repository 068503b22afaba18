"""Builds the papers in a list in parallel, with records of earlier builds and a report.

May import: the other commands, and the layers below them."""
