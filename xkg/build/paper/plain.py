"""Converts parts of a paper to readable text."""

from xkg.build.paper.document import Document
from xkg.build.paper.latex.document import readable_latex
from xkg.build.paper.markdown.text import readable_markdown


def plain(document: Document, start: int, end: int) -> str:
    """Returns `document.text[start:end]` as readable text. Expands the author's macros, and writes formulas as `$TeX$`.
    Removes markup, citations, references, footnotes, figures and tables. Paragraphs are separated by blank lines, and
    other whitespace is collapsed."""
    return (
        readable_latex(document, start, end) if document.format == "latex" else readable_markdown(document, start, end)
    )
