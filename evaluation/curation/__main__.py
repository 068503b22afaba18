"""Measures a curation's recall@10. Prepare a folder, then measure on it:

    python -m evaluation.curation prepare FOLDER --papers DIR --graphs DIR --mirrors DIR
    python -m evaluation.curation FOLDER [--target NAME] [--llm none] [--most 10]

The folder's format is in `evaluation.curation.world`. `prepare` fills the folder from targets, graphs in the published
format (titles, abstracts, references) and git mirrors (README, licence, dates). `prepare` also uses
`evaluation/gold/curation`, which contains only facts: arXiv ids, titles, authors, and each target's titles. `prepare`
sends no requests to the internet.

The test servers serve the folder on loopback. The servers use the arXiv, OpenAlex and GitHub protocols, and search by
words. Requests are sent without pauses, and their number is printed. For each target, the output gives recall@10 over
all expected papers and over those that the target cites. The output also lists the chosen papers with the reasons for
each, and the step at which each missed paper was lost."""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from evaluation.curation.prepare import prepare
from evaluation.curation.world import Target, served, targets
from evaluation.inputs.command import run_command
from tests.build.scholarly_stand_in import Scholarly
from tests.clock import TurnedClock
from xkg.build.curation.curated_set import CuratedPaper, CuratedSet
from xkg.commands.curate import curate
from xkg.config import ArxivSettings, CurationSettings, LlmSettings, Settings
from xkg.errors import InputError
from xkg.text.titles import title_similarity

_SAME = 0.9


class Missed(NamedTuple):
    """A missed paper. `is_cited` is true if the target cites the paper. `step` is the step at which the paper was
    lost."""

    title: str
    is_cited: bool
    step: str


class Found(NamedTuple):
    target: Target
    curated: CuratedSet
    seconds: float
    requests: int
    hits: tuple[str, ...]
    hits_cited: tuple[str, ...]
    missed: tuple[Missed, ...]

    @property
    def cited(self) -> int:
        return len(self.hits_cited) + sum(missed.is_cited for missed in self.missed)


def judged(web: Scholarly, target: Target, curated: CuratedSet, seconds: float) -> Found:
    hits, hits_cited, missed = [], [], []
    for title in target.expected:
        chosen = _of_title(title, curated.papers)
        if chosen is not None:
            hits.append(title)
            hits_cited += [title] if chosen.origin == "reference" else []
            continue
        dropped = _of_title(title, curated.dropped)
        is_cited = dropped is not None and dropped.origin == "reference"
        missed.append(Missed(title, is_cited, _step(web, title, dropped)))
    return Found(target, curated, seconds, len(web.requests), tuple(hits), tuple(hits_cited), tuple(missed))


def _of_title(title: str, papers: tuple[CuratedPaper, ...]) -> CuratedPaper | None:
    return next((paper for paper in papers if title_similarity(paper.title, title) >= _SAME), None)


def _step(web: Scholarly, title: str, dropped: CuratedPaper | None) -> str:
    if dropped is None:
        known = any(title_similarity(paper.title, title) >= _SAME for paper in web.papers.values())
        return "candidates: neither cited nor found by a search" if known else "not in the folder"
    if dropped.arxiv_id is None:
        return f"identity: {dropped.dropped}"
    scores = ", ".join(f"{name} {value:.2f}" for name, value in dropped.scores.items())
    step = "repository" if dropped.repositories else "rank, or repository"
    return f"{step} (score {dropped.score:.2f}: {scores}; {dropped.origin}): {dropped.dropped}"


def printed(found: Found) -> str:
    lines = [
        "",
        f"== {found.target.name}: {found.curated.title}",
        f"   recall@10 {len(found.hits)} of {len(found.target.expected)}; of those "
        f"that it cites {len(found.hits_cited)} of {found.cited}; "
        f"{found.seconds:.1f} s, {found.requests} requests",
        *(f"   technique  {technique.name}" for technique in found.curated.techniques),
    ]
    for number, paper in enumerate(found.curated.papers, 1):
        expected = any(title_similarity(paper.title, title) >= _SAME for title in found.target.expected)
        mark = "*" if expected else " "
        repository = paper.repository.url if paper.repository is not None else ""
        lines.append(f" {mark} {number:>2} {paper.score:.2f} {paper.title[:80]} ({paper.origin}) {repository}")
        lines.append(f"        {paper.why[:160]}")
    lines += [
        f"   missed{' (cited)' if m.is_cited else ''}: {m.title[:80]}\n        {m.step[:300]}" for m in found.missed
    ]
    return "\n".join(lines)


def summary(found: list[Found]) -> str:
    lines = ["", f"{'target':<28}{'chosen':>7}{'recall@10':>12}{'of cited':>10}{'s':>7}"]
    for one in found:
        recall, cited = f"{len(one.hits)}/{len(one.target.expected)}", f"{len(one.hits_cited)}/{one.cited}"
        lines.append(f"{one.target.name:<28}{len(one.curated.papers):>7}{recall:>12}{cited:>10}{one.seconds:>7.1f}")
    hits, expected = sum(len(one.hits) for one in found), sum(len(one.target.expected) for one in found)
    hits_cited, cited_all = sum(len(one.hits_cited) for one in found), sum(one.cited for one in found)
    lines.append(
        f"{'all':<28}{sum(len(o.curated.papers) for o in found):>7}{f'{hits}/{expected}':>12}"
        f"{f'{hits_cited}/{cited_all}':>10}"
    )
    return "\n".join(lines)


def measure(web: Scholarly, target: Target, kg: Path, llm: str, most: int) -> Found:
    settings = Settings(
        kg=kg,
        llm=LlmSettings(model=llm),
        arxiv=ArxivSettings(url=web.url),
        curation=CurationSettings(openalex=web.openalex, github=web.github),
    )
    web.requests.clear()
    started = time.monotonic()
    curated = curate(settings, str(target.paper), most=most, blacklist=target.blacklist, clock=TurnedClock())
    return judged(web, target, curated, time.monotonic() - started)


def main(
    folder: Sequence[str],
    *,
    papers: Annotated[Path | None, typer.Option(help="prepare: folders of targets")] = None,
    graphs: Annotated[Path | None, typer.Option(help="prepare: graphs in the published format")] = None,
    mirrors: Annotated[Path | None, typer.Option(help="prepare: git directories, OWNER+NAME/repo")] = None,
    target: Sequence[str] = (),
    llm: str = "none",
    most: int = 10,
) -> None:
    *verb, place = folder
    if verb == ["prepare"] and papers and graphs and mirrors:
        prepare(Path(place), papers, graphs, mirrors)
        return
    if verb:
        raise InputError("pass one folder, or: prepare FOLDER --papers DIR --graphs DIR --mirrors DIR")
    found = []
    with served(Path(place)) as web, tempfile.TemporaryDirectory(prefix="xkg-curation-") as kg:
        for each in targets(Path(place)):
            if not target or each.name in target:
                found.append(measure(web, each, Path(kg), llm, most))
                print(printed(found[-1]), flush=True)
    print(summary(found))


if __name__ == "__main__":
    run_command(main)
