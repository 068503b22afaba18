"""Finds content outside the running text of a LaTeX paper, such as tables, captions, footnotes, statements and
listings."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from xkg.build.paper.document import Algorithm, Aside
from xkg.build.paper.latex.algorithms import code
from xkg.build.paper.latex.tables import rows
from xkg.build.paper.latex.tex.commands import FLOATS, PICTURES, TABULARS
from xkg.build.paper.latex.tex.labels import Printed, Theorem
from xkg.build.paper.latex.tex.tokens import VERBATIM, Environment, Tex, between

_CAPTION = re.compile(r"\\(caption|captionof|subcaption|subcaptionbox|TitleOfAlgo)\*?(?![a-zA-Z])")
_PART_CAPTION = re.compile(r"\\(?:subfloat|subfigure|subtable)(?![a-zA-Z])\s{0,4}(?=\[)")
_FOOTNOTE = re.compile(r"\\(?:footnote|footnotetext|tablefootnote|sidenote|endnote)(?![a-zA-Z])")
_FRONT = re.compile(r"\\(?:title|author|icmltitle|icmlauthor|date|affiliation|address|institute)(?![a-zA-Z])")
_UNREAD = frozenset(("comment", "filecontents", "filecontents*", "CCSXML"))
_FEWEST_WORDS = 3  # a float with fewer words left contains only panel labels
_LONGEST = 100_000  # the maximum number of characters

Render = Callable[[str, bool], str]
"""Converts source to readable text. The flag is True if only float environments enclose the text."""


@dataclass(frozen=True)
class _Caption:
    start: int
    end: int
    text: str


class AsideReader:
    """Extracts tables, captions, footnotes and similar blocks between two offsets. Ignores blocks inside algorithms."""

    def __init__(
        self,
        text: str,
        span: tuple[int, int],
        environments: Sequence[Environment],
        algorithms: Sequence[Algorithm],
        theorems: dict[str, Theorem],
        printed: Printed,
        definitions: Iterable[tuple[int, int]],
        render: Render,
    ) -> None:
        self.text, self.printed, self.theorems, self.render = text, printed, theorems, render
        self.start, self.end = span
        self.tex = Tex(text)
        taken = sorted([*((a.start, a.end) for a in algorithms), *definitions])
        self.taken = _Spans(taken)
        self.titles = {a.title for a in algorithms if a.title}
        inside = [
            e
            for e in environments
            if e.closed and self.start <= e.start and e.end <= self.end and not self.taken.holds(e.start)
        ]
        self.tables = _outermost(e for e in inside if e.name in TABULARS)
        self.pictures = _outermost(e for e in inside if e.name in PICTURES)
        self.floats = _outermost(e for e in inside if e.name in FLOATS - TABULARS.keys() - PICTURES)
        self.listings = [e for e in inside if e.name in VERBATIM]
        self.unread = [e for e in inside if e.name in _UNREAD]
        within = _Spans([(e.start, e.end) for e in self.floats])
        self.statements = _outermost(
            e for e in inside if (e.name in theorems or e.name.startswith("restatable")) and not within.holds(e.start)
        )

    def asides(self) -> list[Aside]:
        captions = sorted(self._captions(), key=attrgetter("start"))
        footnotes = list(self._footnotes())
        tables = [
            (e, body)
            for e in self.tables
            if e.end - e.start < _LONGEST
            and (body := rows(self.text[e.body_start : e.body_end], e.name, lambda cell: self.render(cell, True)))
        ]
        titles = self._titles(captions, [e for e, _ in tables])
        used = {titles[e.start].start for e, _ in tables if e.start in titles}
        out = [
            Aside(
                kind="table",
                start=e.start,
                end=e.end,
                text=f"{titles[e.start].text}\n{body}" if e.start in titles else body,
            )
            for e, body in tables
        ]
        out += [
            Aside(kind="caption", start=c.start, end=c.end, text=c.text)
            for c in captions
            if c.start not in used and c.text
        ]
        out += footnotes
        out += [
            Aside(kind="listing", start=e.start, end=e.end, text=code(self.text[e.body_start : e.body_end]))
            for e in self.listings
        ]
        cut = [(c.start, c.end) for c in captions] + [(a.start, a.end) for a in footnotes]
        cut += [(e.start, e.end) for e in (*self.tables, *self.pictures, *self.listings, *self.unread)]
        cut = sorted([*cut, *self.taken.spans])
        out += [self._float(e, cut) for e in self.floats]
        out += [Aside(kind="float", start=e.start, end=e.end, text="") for e in (*self.pictures, *self.unread)]
        read = {e.start for e, _ in tables}
        out += [Aside(kind="float", start=e.start, end=e.end, text="") for e in self.tables if e.start not in read]
        out += [self._statement(e) for e in self.statements]
        return sorted(out, key=lambda a: (a.start, -a.end))

    def _captions(self) -> Iterator[_Caption]:
        for match in _CAPTION.finditer(self.text, self.start, self.end):
            if self.taken.holds(match.start()):
                continue
            at = self.tex.skip_options(match.end())
            group = self.tex.group(at)
            if group is not None and match[1] == "captionof":
                group = self.tex.group(self.tex.skip_options(group.after))
            if group is None:
                continue
            words = " ".join(self.render(self.tex.inner(group), False).split())
            name = self.printed.captions.get(match.start(), "")
            if words and words in self.titles:
                words = ""
            yield _Caption(match.start(), group.after, f"{name}: {words}" if name and words else words)
        for match in _PART_CAPTION.finditer(self.text, self.start, self.end):
            option = self.tex.option(match.end())
            if option is not None and not self.taken.holds(match.start()):
                words = " ".join(self.render(self.tex.inner(option), False).split())
                yield _Caption(match.start(), option.after, words if re.search(r"\w{2}", words) else "")

    def _footnotes(self) -> Iterator[Aside]:
        front = _Spans(
            sorted(
                (match.start(), group.after)
                for match in _FRONT.finditer(self.text, self.start, self.end)
                if (group := self.tex.group(self.tex.skip_options(match.end()))) is not None
            )
        )
        last = self.start
        for match in _FOOTNOTE.finditer(self.text, self.start, self.end):
            group = self.tex.group(self.tex.skip_options(match.end()))
            if group is None or match.start() < last or self.taken.holds(match.start()) or front.holds(match.start()):
                continue
            last = group.after
            words = " ".join(self.render(self.tex.inner(group), False).split())
            yield Aside(
                kind="footnote", start=match.start(), end=group.after, text=f"Footnote: {words}" if words else ""
            )

    def _titles(self, captions: Sequence[_Caption], tables: Sequence[Environment]) -> dict[int, _Caption]:
        """Returns the caption of each table, keyed by the table's start. If a float has as many captions as tables,
        captions are matched in order. A single caption belongs to the first table."""
        out: dict[int, _Caption] = {}
        for holder in [*self.floats, *(e for e in tables if e.name in ("longtable", "longtable*", "xltabular"))]:
            own = [t for t in between(tables, holder.start, holder.end) if t.start not in out]
            named = [c for c in between(captions, holder.start, holder.end) if c.text]
            if own and (len(named) == len(own) or len(named) == 1):
                out |= {table.start: title for table, title in zip(own, named, strict=False)}
        return out

    def _float(self, environment: Environment, cut: Sequence[tuple[int, int]]) -> Aside:
        pieces, at = [], environment.start
        first = bisect_left(cut, (environment.start, 0))
        for start, end in cut[first : bisect_left(cut, (environment.end, 0))]:
            pieces.append(self.text[at:start] if start > at else "")
            at = max(at, end)
        pieces.append(self.text[at : environment.end])
        words = (
            " ".join(self.render(" ".join(pieces), True).split())
            if environment.end - environment.start < _LONGEST
            else ""
        )
        enough = len(re.findall(r"[^\W\d_]{2,}|\$[^$]{8,}\$", words)) >= _FEWEST_WORDS
        return Aside(kind="float", start=environment.start, end=environment.end, text=words if enough else "")

    def _statement(self, environment: Environment) -> Aside:
        text, name = self.text, self.printed.statements.get(environment.start, "")
        at = environment.body_start
        option = self.tex.option(at)
        if environment.name.startswith("restatable"):
            for _ in range(2):
                group = self.tex.group(self.tex.skip_options(at))
                at = group.after if group is not None else at
        else:
            at = option.after if option is not None else at
        own = " ".join(self.render(self.tex.inner(option), False).split()) if option is not None else ""
        if own and environment.name.startswith("proof"):
            name = own
        elif own:
            name = f"{name} ({own})"
        body = self.render(text[at : environment.body_end], False) if environment.end - at < _LONGEST else ""
        name = name.rstrip(".") + ". " if name else ""
        return Aside(
            kind="statement",
            start=environment.start,
            end=environment.end,
            text=name + " ".join(body.split()) if body.strip() else "",
        )


class _Spans:
    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self.spans = list(spans)
        joined: list[tuple[int, int]] = []
        for start, end in spans:
            if joined and start < joined[-1][1]:
                joined[-1] = (joined[-1][0], max(joined[-1][1], end))
            else:
                joined.append((start, end))
        self._starts = [start for start, _ in joined]
        self._ends = [end for _, end in joined]

    def holds(self, offset: int) -> bool:
        i = bisect_right(self._starts, offset) - 1
        return i >= 0 and offset < self._ends[i]


def _outermost(environments: Iterable[Environment]) -> list[Environment]:
    out: list[Environment] = []
    for environment in sorted(environments, key=lambda e: (e.start, -e.end)):
        if not out or environment.start >= out[-1].end:
            out.append(environment)
    return out
