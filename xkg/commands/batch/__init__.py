"""Builds many papers from a list: parallel processes, records of earlier builds, a report.

May import: the other commands, and the layers below them."""
