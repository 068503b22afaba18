r"""Macros of a paper that do nothing but set a label: `\newcommand{\eqlabel}[1]{\label{eq:#1}}`."""

import re
from collections.abc import Iterator, Sequence

from xkg.build.paper.document import SourceSpan

_DEFINITION = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand)\*?\s*+(?:\{\s*+\\([a-zA-Z@]{1,40})\s*+\}|\\([a-zA-Z@]{1,40}))"
    r"\s*+\[1\]\s*+\{\s*+\\label\s*+\{([^{}#]{0,100})#1([^{}#]{0,100})\}\s*+\}"
)
_MOST = 50  # macros


def with_plain_labels(text: str, spans: Sequence[SourceSpan]) -> tuple[str, tuple[SourceSpan, ...]]:
    """The text with every use of such a macro replaced by the `\\label` that it stands for, and the spans of the new
    text, where what was replaced belongs to no file."""
    macros: dict[str, tuple[str, str]] = {}
    for match in _DEFINITION.finditer(text):
        if len(macros) < _MOST:
            macros[match[1] or match[2]] = (match[3], match[4])
    if not macros:
        return text, tuple(spans)
    use = re.compile(rf"\\({'|'.join(sorted(macros, key=len, reverse=True))})\s*+\{{([^{{}}#\\]{{1,150}})\}}")
    found = [(m.start(), m.end(), f"\\label{{{macros[m[1]][0]}{m[2]}{macros[m[1]][1]}}}") for m in use.finditer(text)]
    if not found:
        return text, tuple(spans)
    out: list[str] = []
    at = 0
    for start, end, label in found:
        out += [text[at:start], label]
        at = end
    return "".join([*out, text[at:]]), tuple(_moved(text, spans, found))


def _moved(text: str, spans: Sequence[SourceSpan], found: Sequence[tuple[int, int, str]]) -> Iterator[SourceSpan]:
    by, n = 0, 0
    for span in spans:
        at, line = span.start, span.line
        while n < len(found) and found[n][0] < span.end:
            start, end, label = found[n]
            if start > at:
                yield SourceSpan(start=at + by, end=start + by, path=span.path, line=line)
            line += text.count("\n", at, min(end, span.end))
            by += len(label) - (end - start)
            at, n = max(end, at), n + 1
        if at < span.end:
            yield SourceSpan(start=at + by, end=span.end + by, path=span.path, line=line)
