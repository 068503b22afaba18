"""Compares the computations in two programs statement by statement. The comparison shows how much of an implementation
comes from its source lines.

May import: any layer below `build`."""
