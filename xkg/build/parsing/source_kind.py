"""Determines the file type of a paper's arXiv source, and whether it contains a paper."""

import re

from xkg.build.paper.archive import is_archive, unpack
from xkg.build.paper.files import LARGEST_TEXT
from xkg.build.paper.main_file import LATEX, looks_like_latex
from xkg.build.paper.read import PaperOnDisk
from xkg.value import Value

WITHDRAWN = re.compile(r"(?i)\bwithdr(?:awn|ew|awal)\b")
_NOTICE = 2000  # the maximum number of characters in a withdrawal notice


class SourceKind(Value):
    """The kind of a paper's source. `suffix` is its file suffix, or None if the source is not readable. `withdrawn` is
    True for a withdrawal notice."""

    suffix: str | None
    withdrawn: bool = False


def source_kind(source: PaperOnDisk) -> SourceKind:
    """Returns a source's kind. Raises the same errors as `unpack`."""
    if b"%PDF-" in source.head:
        return SourceKind(suffix=".pdf")
    if is_archive(source.head):
        files, suffix = unpack(source.whole(), source.path), ".tar.gz"
    elif source.size <= LARGEST_TEXT:
        files, suffix = {"main.tex": source.whole()}, ".tex"
    else:
        return SourceKind(suffix=None)
    texts = [data.decode("utf-8", "replace") for name, data in files.items() if name.lower().endswith(LATEX)]
    if sum(map(len, texts)) < _NOTICE and any(WITHDRAWN.search(text) for text in texts):
        return SourceKind(suffix=None, withdrawn=True)
    return SourceKind(suffix=suffix if any(looks_like_latex(text) for text in texts) else None)
