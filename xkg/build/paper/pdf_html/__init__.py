"""PDF and HTML, written down as Markdown, to a `Document`.

May import: markdown, and what the formats share.
"""
