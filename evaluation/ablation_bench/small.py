"""Creates the small benchmark, in which each paper is cut off before its experiments.

The gold ablations are facts from the papers, in our own words (`evaluation/data/ablations/golds.jsonl`). The papers
themselves are not in the repository; they are read from a folder of `<id>/paper.md` files. A paper's graph is built
only from the text before the cut, without a repository or findings; `leaks` checks that the graph contains nothing from
the rest of the paper. The reviews of two papers (`reviews.jsonl`) are our own, because the repository does not contain
published reviews."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xkg.commands.build import build
from xkg.commands.graph.contents import import_graphs
from xkg.commands.graph.open import open_store, stored_paper
from xkg.config import Settings
from xkg.errors import InputError
from xkg.model import PaperBundle

_DATA = Path(__file__).parents[1] / "data" / "ablations"
SHINGLE = 8
"""If two texts share this many consecutive words, one was copied from the other."""

_ABSTRACT = re.compile(r"\\begin\{abstract\}(.{1,20000}?)\\end\{abstract\}", re.S)
_HEADING = re.compile(r"^(?:\\(?:sub){0,2}section\*?\{|#{1,4} )(?:(?:\d+|[A-Z])(?:\.\d+)*\.? )?([^{}\n]{0,300})", re.M)
_WORD = re.compile(r"\w++")


@dataclass(frozen=True)
class Audit:
    """The result of checking whether a paper's graph contains text that was removed from the paper. `shared` counts
    sequences of `SHINGLE` words that occur in both the graph and the removed text, but not in the remaining text.
    `texts` and `words` give the amount of text compared. `withheld` counts the nodes that the graph should not contain
    (repositories, code, findings)."""

    paper: str
    texts: int
    words: int
    shared: int
    example: str
    withheld: int

    @property
    def clean(self) -> bool:
        return not (self.shared or self.withheld)

    def __str__(self) -> str:
        found = (
            f"{self.shared} runs of words from the part that was cut off ({self.example})"
            if self.shared
            else "nothing from the part that was cut off"
        )
        return (
            f"{self.paper}: {self.words} words in {self.texts} texts of the graph: {found}; "
            f"{self.withheld} nodes of code, repositories and findings"
        )


def rows(name: str) -> list[dict[str, Any]]:
    """Returns the rows in `golds.jsonl` or `reviews.jsonl`. `cut_before` is the title of the first section that a
    planner must not see."""
    return [json.loads(line) for line in (_DATA / name).read_text(encoding="utf-8").splitlines() if line]


def with_reviews(papers: Path, to: Path) -> int:
    """Writes `to`/whole (the full papers that have reviews) and `to`/reviews.jsonl (the instances for the reviewer
    task). Returns the number of instances. Raises `OSError` for a missing paper."""
    made = []
    for row in rows("reviews.jsonl"):
        whole = (papers / row["id"] / "paper.md").read_text(encoding="utf-8")
        made.append({**row, **_stored(to, f"whole/{row['id']}", whole, row["paper_title"])})
    _write_lines(to / "reviews.jsonl", made)
    return len(made)


def make(papers: Path, graphs: Path | None, to: Path, golds: Sequence[Mapping[str, Any]]) -> list[Audit]:
    """Writes `to`/papers (the cut papers), `to`/instances.jsonl and `to`/kg (a graph of the cut papers and, if `graphs`
    is given, the other papers in that folder). Returns the audit results. Raises `InputError` for a missing paper or
    section."""
    if missing := [gold["id"] for gold in golds if not (papers / gold["id"] / "paper.md").is_file()]:
        raise InputError(
            f"{papers}: has no {missing[0]}/paper.md; pass the folder that contains the papers {', '.join(missing)}"
        )
    settings = Settings.model_validate({"kg": to / "kg", "llm": {"model": "none"}})
    made, audits = [], []
    if graphs is not None:
        import_graphs(settings, graphs)
    for gold in golds:
        whole = (papers / gold["id"] / "paper.md").read_text(encoding="utf-8")
        cut = until(whole, gold["cut_before"])
        stored = _stored(to, f"papers/{gold['id']}", cut, "")
        bundle = _without_findings(settings, build(settings, to / stored["paper_path"] / "paper.md", None).paper)
        audits.append(leaks(bundle, cut, whole[len(cut) :]))
        stored["paper_abstract"] = stored["paper_abstract"] or bundle.paper.abstract
        golds_of = {"ablations_in_paper": gold["ablations_in_paper"]}
        made.append({"id": gold["id"], "paper_title": bundle.paper.title, **stored, **golds_of})
    _write_lines(to / "instances.jsonl", made)
    return audits


def until(text: str, title: str) -> str:
    """Returns the text before the section titled `title`, ignoring section numbers and case. Raises `InputError` if
    there is no such section."""
    for heading in _HEADING.finditer(text):
        if heading[1].strip().casefold() == title.casefold():
            return text[: heading.start()]
    raise InputError(f"no section {title!r}: there are {', '.join(_HEADING.findall(text))[:500]}")


def _stored(to: Path, place: str, text: str, abstract: str) -> dict[str, str]:
    """Writes a paper and returns its instance's fields."""
    (to / place).mkdir(parents=True, exist_ok=True)
    (to / place / "paper.md").write_text(text, encoding="utf-8")
    found = _ABSTRACT.search(text)
    return {"paper_abstract": found[1].strip() if found else abstract, "paper_path": place}


def _write_lines(path: Path, values: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")


def _without_findings(settings: Settings, paper: str) -> PaperBundle:
    """Publishes the paper again without its findings, because the build extracts them from what the introduction says
    about the experiments."""
    with open_store(settings) as store:
        found = stored_paper(store, paper)
        assert found is not None
        bundle = found[1].model_copy(update={"findings": ()})
        store.publish([bundle])
    return bundle


def leaks(bundle: PaperBundle, cut: str, rest: str) -> Audit:
    """Compares every text in a paper's graph with the text that it was built from, and with the text that was
    removed."""
    texts = [text for text in _texts(bundle.model_dump(mode="json")) if _WORD.search(text)]
    known, hidden = set(_shingles(cut)), set(_shingles(rest))
    shared = [run for text in texts for run in _shingles(text) if run in hidden and run not in known]
    return Audit(
        paper=bundle.paper.id,
        texts=len(texts),
        words=sum(len(_WORD.findall(text)) for text in texts),
        shared=len(shared),
        example=" ".join(shared[0]) if shared else "",
        withheld=len(bundle.repositories) + len(bundle.code) + len(bundle.symbols) + len(bundle.findings),
    )


def _texts(value: object) -> Iterator[str]:
    """Yields every string in a value, at any depth, so that new kinds of nodes are also compared. Ids are split at `#`,
    because the names in an id are not adjacent in any text."""
    if isinstance(value, str):
        yield from value.split("#")
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _shingles(text: str) -> Iterator[tuple[str, ...]]:
    words = [word.casefold() for word in _WORD.findall(text)]
    return (tuple(words[n : n + SHINGLE]) for n in range(len(words) - SHINGLE + 1))
