"""Compares the computations in two programs statement by statement, to show how much of an implementation comes from
its source lines.

May import: any layer below `build`."""
