"""Renders formulas as MathML, highlights code and lays out drawings. All text is untrusted, and its length is limited.

May import from the lowest layer, but not from the pages.
"""
