"""Parses LaTeX papers into a `Document`.

May import from `tex` and from code shared by all paper formats."""
