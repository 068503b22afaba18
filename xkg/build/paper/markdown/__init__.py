"""Parses Markdown, including Mathpix output, into a `Document`.

May import from `latex`, for formulas and algorithms, and from code shared by all paper formats."""
