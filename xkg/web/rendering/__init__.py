"""Renders formulas as MathML, highlights code and lays out drawings. Treats all text as untrusted, and limits its
length.

May import from the lowest layer, but not from the pages.
"""
