r"""Computes the numbers that LaTeX prints for displayed equations."""

import re
from collections.abc import Sequence

from xkg.build.paper.latex.tex.tokens import Environment

_ROWS = frozenset(("align", "gather", "eqnarray", "flalign", "alignat", "xalignat"))
_NUMBERED = _ROWS | {"equation", "multline", "dmath"}
_TAG = re.compile(r"\\tag\*?\s*+\{\(?([^{}]{1,40}?)\)?\}")
_LABEL = re.compile(r"\\label\s*+\{([^{}]{1,200})\}")
_STEPS = re.compile(r"\\refstepcounter\s*+\{equation\}")
_SILENT = re.compile(r"\\(?:nonumber|notag)(?![a-zA-Z])")
_PIECE = re.compile(r"\\(begin|end)\s*+\{[^{}]{1,60}\}|\\\\")
_WITHIN = re.compile(
    r"\\(?:numberwithin|counterwithin)\*?\s*+\{equation\}\s*+\{section\}"
    r"|\\renewcommand\s*+\{?\\theequation\}?\s*+\{\\thesection"
)


class EquationNumbers:
    """Numbers a paper's equations in reading order, restarting at 1 in each section if the paper does."""

    def __init__(self, text: str, groups: Sequence[Environment]) -> None:
        self._within = _WITHIN.search(text) is not None
        self._groups = groups
        self._group: Environment | None = None
        self._count = self._letter = self._section = 0
        self._appendix = False
        self.labels: dict[str, str] = {}
        """The number assigned to each label so far."""

    def section(self, *, appendix: bool) -> None:
        """Starts a new section, which resets the equation counter if equations are numbered by section."""
        self._section = 1 if appendix and not self._appendix else self._section + 1
        self._appendix = appendix
        if self._within:
            self._count = 0

    def of(self, name: str, start: int, body: str) -> tuple[str, ...]:
        r"""Returns the numbers of the equations in the display at `start`. `body` is the display's content, and `name`
        is the name of its environment, or "" for `\[` and `$$`."""
        numbers: list[str] = []
        waiting: list[str] = []  # labels of unnumbered rows, which refer to the next number
        for row in _rows(body) if name in _ROWS else [body]:
            waiting += [label.strip() for label in _LABEL.findall(row)]
            if tag := _TAG.search(row):
                numbers.append(tag[1].strip())
            elif _STEPS.search(row) or (name in _NUMBERED and not _SILENT.search(row) and row.strip()):
                numbers.append(self._next(start))
            else:
                continue
            self.labels |= dict.fromkeys(waiting, numbers[-1])
            waiting.clear()
        if numbers:
            self.labels |= dict.fromkeys(waiting, numbers[-1])
        return tuple(numbers)

    def _next(self, start: int) -> str:
        group = next((g for g in self._groups if g.start < start < g.end), None)
        if group is None or group is not self._group:
            self._group, self._letter = group, 0
            self._count += 1
        letter = ""
        if group is not None:
            letter = chr(ord("a") + self._letter % 26)
            self._letter += 1
        section = chr(ord("A") + (self._section - 1) % 26) if self._appendix else str(self._section)
        return f"{section}.{self._count}{letter}" if self._within else f"{self._count}{letter}"


def _rows(body: str) -> list[str]:
    r"""Returns the rows of an `align`, where a `\\` inside a nested environment does not end a row."""
    rows, depth, at = [], 0, 0
    for match in _PIECE.finditer(body):
        if match[1]:
            depth += 1 if match[1] == "begin" else -1
        elif depth == 0:
            rows.append(body[at : match.start()])
            at = match.end()
    rows.append(body[at:])
    return rows
