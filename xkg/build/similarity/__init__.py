"""Compares the computations in two programs statement by statement, to show how much of an implementation comes from
the source lines that it was derived from.

May import: any layer below `build`."""
