"""Converts PDF and HTML to Markdown, then parses the Markdown into a `Document`.

May import from `markdown` and from code shared by all paper formats."""
