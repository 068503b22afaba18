"""LaTeX to a `Document`.

May import: what the formats of papers share.
"""
