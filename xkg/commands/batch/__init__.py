"""Builds the papers in a list in parallel, keeps records of earlier builds, and reports the results.

May import: the other commands, and the layers below them."""
