"""Renders formulas as MathML, highlights code and lays out drawings. Text is untrusted, and the length of text is
limited.

May import from the lowest layer, but not from the pages.
"""
