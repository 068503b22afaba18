"""Reads Markdown, including Mathpix's, into a `Document`.

May import: latex, for formulas and algorithms, and code shared by the formats."""
