"""Compares the computations in two programs, statement by statement, to measure how much of an implementation comes
from its source lines.

May import: the layers below build."""
