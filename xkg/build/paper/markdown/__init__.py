"""Markdown, Mathpix's too, to a `Document`.

May import: latex, for formulas and algorithms, and code shared by the formats.
"""
