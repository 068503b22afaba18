"""Renders untrusted text as markup within limits: formulas as MathML, highlighted code, and node positions in drawings.

May import: the lowest layer; not the pages that show it.
"""
