"""Converts PDF and HTML to Markdown, and reads the Markdown into a `Document`.

May import: markdown, and code shared by the formats."""
