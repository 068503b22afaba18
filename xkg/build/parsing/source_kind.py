"""What arXiv gave as the source of a paper: what kind of file it is, and whether there is a paper in it."""

import re

from pydantic import BaseModel, ConfigDict

from xkg.build.paper.archive import is_archive, unpack
from xkg.build.paper.files import LARGEST_TEXT
from xkg.build.paper.read import LATEX, PaperOnDisk, looks_like_latex

WITHDRAWN = re.compile(r"(?i)\bwithdr(?:awn|ew|awal)\b")
_NOTICE = 2000  # characters of a source that only says that the paper was withdrawn


class SourceKind(BaseModel):
    """`suffix` says how to name the source, None where that is nothing to read; `withdrawn` where a notice stands in
    the place of a paper."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    suffix: str | None
    withdrawn: bool = False


def source_kind(found: PaperOnDisk) -> SourceKind:
    """Raises what `unpack` raises."""
    if b"%PDF-" in found.head:
        return SourceKind(suffix=".pdf")
    if is_archive(found.head):
        files, suffix = unpack(found.whole(), found.path), ".tar.gz"
    elif found.size <= LARGEST_TEXT:
        files, suffix = {"main.tex": found.whole()}, ".tex"
    else:
        return SourceKind(suffix=None)
    texts = [data.decode("utf-8", "replace") for name, data in files.items() if name.lower().endswith(LATEX)]
    if sum(map(len, texts)) < _NOTICE and any(WITHDRAWN.search(text) for text in texts):
        return SourceKind(suffix=None, withdrawn=True)
    return SourceKind(suffix=suffix if any(looks_like_latex(text) for text in texts) else None)
