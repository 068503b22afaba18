"""PDF and HTML, converted to Markdown, to a `Document`.

May import: markdown, and code shared by the formats.
"""
