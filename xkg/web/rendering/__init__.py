"""Untrusted text as markup under bounds: formulas as MathML, highlighted code, and where the nodes of a drawing stand.

May import the ground floor; nothing of the pages that show it.
"""
