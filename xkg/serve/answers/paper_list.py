"""The papers of a graph as a list, which filters narrow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from xkg.serve.answers.types import MORE_ROWS, PaperRow, PapersAnswer
from xkg.store.graph_store import Heading, Overview, Snapshot
from xkg.text.plural import plural

State = Literal["complete", "partial"]


@dataclass(frozen=True)
class PaperFilters:
    """`text`: words that title or id have, in any case and order. `years`: first and last of publication, either may be
    None; papers without a year are left out. `with_code`, `tested`: papers with such code. `state`: only these."""

    text: str = ""
    years: tuple[int | None, int | None] = (None, None)
    with_code: bool = False
    tested: bool = False
    state: State | None = None

    @property
    def of_content(self) -> bool:
        """Whether more than its heading has to be read of every paper."""
        return self.with_code or self.tested or self.state is not None

    def admit(self, overview: Overview) -> bool:
        return (
            (not self.with_code or overview.code > 0)
            and (not self.tested or overview.tested > 0)
            and (self.state is None or overview.state == self.state)
        )

    def describe(self) -> str:
        words = f"with {' and '.join(ascii(word) for word in self.text.split())}" if self.text.split() else ""
        first, last = self.years
        years = f"from {first or 'the first'} to {last or 'the last'}" if first is not None or last is not None else ""
        state = self.state and f"that are {self.state}"
        code = "with tested code" if self.tested else "with code" if self.with_code else ""
        return " ".join(part for part in (words, years, state, code) if part)


def papers_answer(snapshot: Snapshot, k: int | None, filters: PaperFilters) -> PapersAnswer:
    """The first `k` papers by title, or all of them; none where the filters leave none."""
    every = snapshot.paper_ids()
    first, last = filters.years
    by_year = first is not None or last is not None
    ids = snapshot.of_years(first, last) if by_year else every
    headings = _with_words(filters.text, snapshot.headings(list(ids)))
    chosen = sorted(headings, key=lambda paper: (headings[paper].title.casefold(), paper))
    if filters.of_content:
        known = snapshot.overviews(chosen)
        chosen = [paper for paper in chosen if paper in known and filters.admit(known[paper])]
    found = snapshot.overviews(chosen[:k])
    rows = [PaperRow(id=paper, **found[paper]._asdict()) for paper in chosen[:k] if paper in found]
    narrowed = filters.describe()
    whole = "the one paper" if len(every) == 1 else f"all {len(every)} papers"
    searched = f"{len(chosen)} of {plural(len(every), 'paper')}: those {narrowed}" if narrowed else whole
    undated = undated_papers(snapshot) if by_year else ""
    more = len(chosen) - len(rows)
    return PapersAnswer(
        rows=tuple(rows),
        searched="; ".join(filter(None, (searched, undated))),
        cut=f"{more} more paper{'s' * (more > 1)} after the first {k}; {MORE_ROWS}" if more > 0 else "",
    )


def undated_papers(snapshot: Snapshot) -> str:
    """How many papers a filter of years leaves out because their year is not known; empty for none."""
    undated = snapshot.paper_count() - len(snapshot.of_years(None, None))
    if undated == 0:
        return ""
    return "1 paper without a year is left out" if undated == 1 else f"{undated} papers without a year are left out"


def _with_words(text: str, headings: Mapping[str, Heading]) -> dict[str, Heading]:
    words = text.casefold().split()
    return {
        paper: heading
        for paper, heading in headings.items()
        if all(word in heading.title.casefold() or word in paper.casefold() for word in words)
    }
