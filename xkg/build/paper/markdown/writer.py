"""Markdown as other formats are written down in, with the place that each piece of it came from."""

import re

from xkg.build.paper.document import SourceSpan

_MARKUP = re.compile(r"[*`]|\\(?=[^\w\s])|(?<!\w)_|_(?!\w)|\$(?!\d)|<(?=[a-zA-Z/!])")
# The Markdown parser has an escape for few of these in all places; what looks alike needs none.
_INSTEAD = {"*": "∗", "`": "‘", "\\": "＼", "_": "＿", "$": "＄", "<": "< "}


def literal(text: str) -> str:
    """Text in which nothing is taken for markup; characters that would be are replaced by such as look alike."""
    return re.sub(r"^(?=[#>|=+-]|(?:---|\*\*\*)$)", r"\\", _MARKUP.sub(lambda match: _INSTEAD[match.group()], text))


class MarkdownWriter:
    """`text` is what was written so far; `spans` leads from it to paths and lines."""

    def __init__(self) -> None:
        self.spans: list[SourceSpan] = []
        self._parts: list[str] = []
        self._length = 0
        self._line_start = 0  # marks before the words of a line belong to it

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def put(self, text: str, place: tuple[str, int] | None = None) -> None:
        """Appends; `place` is the path and line that the text came from, which may hold a line end at its end only."""
        self._parts.append(text)
        self._length += len(text)
        if place is not None and text:
            path, line = place
            self.spans.append(SourceSpan(start=self._line_start, end=self._length, path=path, line=line))
        if place is not None or text.endswith("\n"):
            self._line_start = self._length
