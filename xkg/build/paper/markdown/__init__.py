"""Parses Markdown, including Mathpix output, into a `Document`.

May import from code shared by all paper formats and from `latex`, which parses formulas and algorithms."""
