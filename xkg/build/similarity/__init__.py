"""Compares the computations of two programs, statement by statement, to measure how much of an implementation occurs in
its source lines.

May import: the layers below build."""
