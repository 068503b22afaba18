"""Compares the computations in two programs, statement by statement, to measure how much of an implementation occurs in
its source lines.

May import: the layers below build."""
