"""Detects unsupported formats and files that are not papers by their first bytes and name."""

import re
from pathlib import PurePath

from xkg.build.paper.document import Document

SUPPORTED = "pass the paper as LaTeX, Markdown, HTML or PDF"
_BY_START = (
    (rb"version https://git-lfs\.github\.com/", "a Git LFS pointer, not the file itself; run `git lfs pull`"),
    (rb"404: Not Found\s*$", "an error page; download the paper again"),
    (rb"\{\\rtf", f"RTF; {SUPPORTED}"),
    (rb"%!PS|\xc5\xd0\xd3\xc6", "PostScript; convert it with ps2pdf"),
    (rb"PK\x03\x04(?s:.{26})mimetype", f"an EPUB or OpenDocument file; {SUPPORTED}"),
    (rb"\x89PNG|\xff\xd8\xff|GIF8|RIFF(?s:....)WEBP|II\*\0|MM\0\*", f"an image; {SUPPORTED}"),
    (rb"AT&TFORM", f"DjVu; {SUPPORTED}"),
    (rb"\xd0\xcf\x11\xe0|PK\x03\x04(?s:.{26})\[Content_Types\]", f"a Microsoft Office document; {SUPPORTED}"),
    (rb"\{(?s:.){0,900}?\"(?:cells|nbformat)\"\s*:", f"a Jupyter notebook; {SUPPORTED}"),
    (rb"(?:<[?!][^>]{0,900}+>\s*+)*+<TEI\b", f"TEI; {SUPPORTED}"),
    (
        rb"<\?xml(?s:.){0,900}?<(?:\w+:)?article\b|<!DOCTYPE article\b|<article\s[^>]{0,900}?(?:xmlns:|-type=|dtd-)",
        f"JATS; {SUPPORTED}",
    ),
    (rb"<\?xml(?!(?s:.){0,900}?<html)", f"XML; {SUPPORTED}"),
    (rb"(?:%[^\n]*+\s*+)*+@\w{3,20}\s*\{", f"a bibliography; {SUPPORTED}"),
)
_BY_NAME = {
    ".docx": "a Word document", ".doc": "a Word document", ".odt": "an OpenDocument text", ".epub": "an EPUB",
    ".pptx": "a presentation", ".bib": "a bibliography", ".bbl": "a bibliography", ".org": "an Org file",
    ".typ": "a Typst file", ".rst": "a reStructuredText file", ".ipynb": "a Jupyter notebook", ".rtf": "RTF",
    ".djvu": "DjVu", ".ps": "PostScript", ".lyx": "a LyX file", ".adoc": "an AsciiDoc file", ".json": "JSON",
    ".asciidoc": "an AsciiDoc file", ".mhtml": "a web archive", ".mht": "a web archive", ".tm": "a TeXmacs file",
}  # fmt: skip
_WITHDRAWN = re.compile(
    r"(?i)\b(?:paper|article|submission|manuscript)\s+(?:has|have)\s+been\s+(?:temporarily\s+)?withdrawn\b"
)
_ERROR_PAGE = re.compile(
    r"(?i)\b(?:40[0-9]|50[0-9])\b|not found|access denied|forbidden|just a moment|captcha|log ?in|sign in"
)
_LONGEST_NOTICE = 3000


def not_a_paper(name: str, head: bytes) -> str | None:
    """Explains why a file is not a paper and suggests a remedy. Returns None if the file may be a paper."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for pattern, meaning in _BY_START:
        if re.match(pattern, start):
            return meaning
    kind = _BY_NAME.get(PurePath(name).suffix.lower())
    return None if kind is None else f"{kind}; {SUPPORTED}"


def notice(document: Document) -> str | None:
    """Describes a short text that is a withdrawal notice or an unrelated web page. Returns None for any other text."""
    title = document.title
    if title.startswith("Title:"):
        return "arXiv's page about the paper, not the paper itself; pass the arXiv id, the PDF or the HTML version"
    if len(document.text) > _LONGEST_NOTICE:
        return None
    if _WITHDRAWN.search(document.text):
        return "a notice that the paper was withdrawn"
    if _ERROR_PAGE.search(title):
        return f"an error page ({title!r}); download the paper again"
    has_parts = document.format != "html" or document.abstract or len(document.walk()) > 1
    return None if has_parts else f"a web page without a paper ({title!r}); download the paper again"
