"""LaTeX to a `Document`.

May import: code shared by the formats of papers.
"""
