"""Readable text for a span of a paper."""

from xkg.build.paper.document import Document
from xkg.build.paper.latex.document import readable_latex
from xkg.build.paper.markdown.text import readable_markdown


def plain(document: Document, start: int, end: int) -> str:
    """`document.text[start:end]` as readable text: the author's macros expanded, markup, citations, references,
    footnotes, figures and tables removed, math as `$TeX$`; a blank line between paragraphs, other whitespace single."""
    return (
        readable_latex(document, start, end) if document.format == "latex" else readable_markdown(document, start, end)
    )
