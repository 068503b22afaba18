"""Produces readable text for a span of a paper."""

from xkg.build.paper.document import Document
from xkg.build.paper.latex.document import readable_latex
from xkg.build.paper.markdown.text import readable_markdown


def plain(document: Document, start: int, end: int) -> str:
    """Returns `document.text[start:end]` as readable text. The author's macros are expanded, math is `$TeX$`, and
    markup, citations, references, footnotes, figures and tables are removed. Paragraphs are separated by blank lines;
    other whitespace is collapsed to single spaces."""
    return (
        readable_latex(document, start, end) if document.format == "latex" else readable_markdown(document, start, end)
    )
