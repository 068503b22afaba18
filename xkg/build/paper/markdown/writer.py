"""Writes Markdown for papers in other formats, and records the source of each fragment."""

import re

from xkg.build.paper.document import SourceSpan

_MARKUP = re.compile(r"[*`]|\\(?=[^\w\s])|(?<!\w)_|_(?!\w)|\$(?!\d)|<(?=[a-zA-Z/!])")
# Look-alikes are used because the Markdown parser does not accept escapes for these characters everywhere.
_INSTEAD = {"*": "∗", "`": "‘", "\\": "＼", "_": "＿", "$": "＄", "<": "< "}


def literal(text: str) -> str:
    """Replaces characters that Markdown would treat as markup with escapes or look-alikes."""
    return re.sub(r"^(?=[#>|=+-]|(?:---|\*\*\*)$)", r"\\", _MARKUP.sub(lambda match: _INSTEAD[match.group()], text))


class MarkdownWriter:
    """Builds Markdown incrementally. `text` is the Markdown so far, and `spans` maps it to paths and lines."""

    def __init__(self) -> None:
        self.spans: list[SourceSpan] = []
        self._parts: list[str] = []
        self._length = 0
        self._line_start = 0  # a line's span includes markup at its start

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def put(self, text: str, place: tuple[str, int] | None = None) -> None:
        """Appends text from the path and line in `place`. Line breaks are allowed only at the end."""
        self._parts.append(text)
        self._length += len(text)
        if place is not None and text:
            path, line = place
            self.spans.append(SourceSpan(start=self._line_start, end=self._length, path=path, line=line))
        if place is not None or text.endswith("\n"):
            self._line_start = self._length
