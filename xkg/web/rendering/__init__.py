"""Untrusted text as markup under bounds: formulas as MathML, highlighted code, and positions of the nodes of a drawing.

May import the ground floor; nothing of the pages that show it.
"""
