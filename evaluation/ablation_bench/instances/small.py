"""The small benchmark that runs here: papers cut before their experiments, and a graph of the remaining text.

The gold ablations are facts of the papers in our own words (`evaluation/data/ablations/golds.jsonl`). The papers
themselves are read from a folder of `<id>/paper.md` and are not in the repository. The graph of a paper is built from
the cut text alone, without a repository, and its findings are left out; `leaks` checks that it contains nothing from
the rest. Two papers also have reviews, written by us (`reviews.jsonl`): no venue's reviews are in the repository."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.ablation_bench.instances.sections import until
from xkg.commands.build import build
from xkg.commands.graph.contents import import_graphs
from xkg.commands.graph.open import open_store, stored_paper
from xkg.config import Settings
from xkg.errors import InputError
from xkg.model import PaperBundle

_DATA = Path(__file__).parents[2] / "data" / "ablations"
GOLDS = _DATA / "golds.jsonl"
REVIEWS = _DATA / "reviews.jsonl"
SHINGLE = 8
"""The number of consecutive words that two texts share by copying, and hardly by chance."""

_ABSTRACT = re.compile(r"\\begin\{abstract\}(.{1,20000}?)\\end\{abstract\}", re.S)
_WORD = re.compile(r"\w++")


@dataclass(frozen=True)
class GoldPaper:
    """A row of the gold file. `cut_before` is the title of the first section that a planner must not see."""

    id: str
    title: str
    cut_before: str
    ablations: str


@dataclass(frozen=True)
class Audit:
    """Text in a paper's graph that comes from the part that was cut off. `shared` counts runs of `SHINGLE` words that
    are in the graph and the rest of the paper, but not in the cut text. `texts` and `words` count the compared
    material."""

    paper: str
    texts: int
    words: int
    shared: int
    example: str
    repositories: int
    findings: int

    @property
    def clean(self) -> bool:
        return not (self.shared or self.repositories or self.findings)


def gold_papers(path: Path = GOLDS) -> list[GoldPaper]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return [GoldPaper(r["id"], r["paper_title"], r["cut_before"], r["ablations_in_paper"]) for r in rows]


def with_reviews(papers: Path, to: Path, reviews: Path = REVIEWS) -> int:
    """Writes `to`/whole (the whole papers that have reviews) and `to`/reviews.jsonl, the instances of the reviewer
    task. Returns their number. Raises `OSError` for a missing paper."""
    rows = []
    for line in filter(None, reviews.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        whole = (papers / row["id"] / "paper.md").read_text(encoding="utf-8")
        file = to / "whole" / row["id"] / "paper.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(whole, encoding="utf-8")
        abstract = _ABSTRACT.search(whole)
        found = abstract[1].strip() if abstract else row["paper_title"]
        rows.append({**row, "paper_abstract": found, "paper_path": str(file.parent.relative_to(to))})
    (to / "reviews.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return len(rows)


def make(papers: Path, graphs: Path | None, to: Path, golds: Sequence[GoldPaper]) -> list[Audit]:
    """Writes `to`/papers (the cut papers), `to`/instances.jsonl and `to`/kg, a graph of the cut papers and, if given,
    of the other papers in `graphs`. Returns the results of the audits. Raises `InputError` for a missing paper,
    `ValueError` for one without the section."""
    if missing := [gold.id for gold in golds if not (papers / gold.id / "paper.md").is_file()]:
        raise InputError(f"{papers}: has no {missing[0]}/paper.md; give the folder of the papers {', '.join(missing)}")
    settings = Settings.model_validate({"kg": to / "kg", "llm": {"model": "none"}})
    rows, audits = [], []
    if graphs is not None:
        import_graphs(settings, graphs)
    for gold in golds:
        whole = (papers / gold.id / "paper.md").read_text(encoding="utf-8")
        cut = until(whole, gold.cut_before)
        file = to / "papers" / gold.id / "paper.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(cut, encoding="utf-8")
        built = build(settings, file, None)
        bundle = without_findings(settings, built.paper)
        audits.append(leaks(bundle, cut, whole[len(cut) :]))
        abstract = _ABSTRACT.search(cut)
        rows.append(
            {
                "id": gold.id,
                "paper_title": bundle.paper.title,
                "paper_abstract": abstract[1].strip() if abstract else bundle.paper.abstract,
                "paper_path": str(file.parent.relative_to(to)),
                "ablations_in_paper": gold.ablations,
            }
        )
    (to / "instances.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return audits


def without_findings(settings: Settings, paper: str) -> PaperBundle:
    """The paper published again without findings, which are the introduction's claims about the experiments."""
    with open_store(settings) as store:
        found = stored_paper(store, paper)
        assert found is not None
        bundle = found[1].model_copy(update={"findings": ()})
        store.publish([bundle])
    return bundle


def leaks(bundle: PaperBundle, cut: str, rest: str) -> Audit:
    """Compares every text in a paper's graph with the text that it was built from and with the removed text."""
    texts = [text for text in _texts(bundle.model_dump(mode="json")) if _WORD.search(text)]
    known, hidden = set(_shingles(cut)), set(_shingles(rest))
    shared = [run for text in texts for run in _shingles(text) if run in hidden and run not in known]
    return Audit(
        paper=bundle.paper.id,
        texts=len(texts),
        words=sum(len(_WORD.findall(text)) for text in texts),
        shared=len(shared),
        example=" ".join(shared[0]) if shared else "",
        repositories=len(bundle.repositories) + len(bundle.code) + len(bundle.symbols),
        findings=len(bundle.findings),
    )


def _texts(value: object) -> Iterator[str]:
    """Every text of a value at any depth, so that new kinds of nodes are compared too. An id combines the paper's and
    the technique's, which are not adjacent in any text."""
    if isinstance(value, str):
        yield from value.split("#")
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def _shingles(text: str) -> Iterator[tuple[str, ...]]:
    words = [word.casefold() for word in _WORD.findall(text)]
    return (tuple(words[n : n + SHINGLE]) for n in range(len(words) - SHINGLE + 1))
