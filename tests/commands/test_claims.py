"""Builds one paper from two sources: a file, and arXiv on loopback."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.build import arxiv_server
from tests.build.arxiv_server import Arxiv, tarball
from tests.clock import TurnedClock
from tests.commands.batch.engine_here import EngineHere
from tests.neo4j_server import Neo4jServer
from xkg.commands.batch.paper_list import read_list
from xkg.commands.batch.run import run
from xkg.commands.build import Builder
from xkg.commands.build import build as build_by_clock
from xkg.commands.graph.open import open_store
from xkg.commands.published import BuildResult, OwnGraph, Unpublished
from xkg.config import ArxivSettings, EnvironmentSettings, LlmSettings, PruneSettings, Settings, StoreSettings
from xkg.errors import InputError
from xkg.model import Level

NUMBER = "2401.01234"
CLOCK = TurnedClock()
build = partial(build_by_clock, clock=CLOCK)
TEX = r"""\documentclass{article}\title{%s}%s\begin{document}\maketitle
\section{Method}\subsection{Sorted smoothing}
We propose sorted smoothing, which averages each window of a signal after it was sorted, so that spikes are lost.
\end{document}"""
TITLE = "Sorted filters of noisy signals"
AUTHORS = r"\author{Ada Writer \and Ben Scholar}"


@pytest.fixture
def arxiv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Arxiv]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with arxiv_server.serving() as state:
        state.publish(NUMBER, source=tarball({"main.tex": (TEX % (TITLE, AUTHORS)).encode()}), title=TITLE)
        yield state


@pytest.fixture
def settings(arxiv: Arxiv, tmp_path: Path) -> Settings:
    return Settings(
        kg=tmp_path / "kg",
        llm=LlmSettings(model="none"),
        arxiv=ArxivSettings(url=arxiv.url),
        environment=EnvironmentSettings(max_mb=0),
        prune=PruneSettings(min_level=Level.PARSED),
    )


def file_of(folder: Path, title: str = TITLE, authors: str = AUTHORS, name: str = "own.tex") -> Path:
    path = folder / name
    path.write_text(TEX % (title, authors))
    return path


def papers(settings: Settings) -> list[str]:
    with open_store(settings) as store, store.snapshot() as snapshot:
        return [paper.id for paper in snapshot.papers()]


def test_a_file_of_a_paper_that_came_from_arxiv_is_that_paper(settings: Settings, tmp_path: Path) -> None:
    build(settings, NUMBER, None)
    result = build(settings, file_of(tmp_path, TITLE.upper()), None)
    assert isinstance(result, BuildResult)
    assert (result.paper, result.published) == (f"arxiv:{NUMBER}", False)
    assert any("--id" in note for note in result.notes)
    assert build(settings, file_of(tmp_path), None, paper_id=f"arxiv:{NUMBER}").published, "a person may choose"
    assert papers(settings) == [f"arxiv:{NUMBER}"]


def test_what_arxiv_has_is_built_under_the_id_that_the_file_had(settings: Settings, tmp_path: Path) -> None:
    first = build(settings, file_of(tmp_path), None)
    second = build(settings, NUMBER, None)
    assert second.published
    assert first.paper == second.paper
    assert any("another form" in note for note in second.notes)
    assert papers(settings) == [first.paper]


def test_other_authors_make_another_paper(settings: Settings, tmp_path: Path) -> None:
    build(settings, NUMBER, None)
    build(settings, file_of(tmp_path, authors=r"\author{Cy Other}"), None)
    assert len(papers(settings)) == 2


def test_no_paper_replaces_another_of_its_title_without_a_word(settings: Settings, tmp_path: Path) -> None:
    first = build(settings, file_of(tmp_path, "Errata"), None)
    assert not first.notes or "different text" not in " ".join(first.notes)
    other = file_of(tmp_path, "Errata", r"\author{Cy Other}", "other.tex")
    with pytest.raises(InputError, match=r"title:errata by Ada Writer.*such as title:errata-2"):
        build(settings, other, None)
    build(settings, other, None, paper_id="title:errata-2")
    assert papers(settings) == ["title:errata", "title:errata-2"]
    nobody = file_of(tmp_path, "Errata", r"\begin{abstract}We sum.\end{abstract}", "nobody.tex")
    assert any("different text" in note for note in build(settings, nobody, None).notes)


def test_without_authors_a_long_title_decides_and_a_short_one_is_a_question(
    settings: Settings, arxiv: Arxiv, tmp_path: Path
) -> None:
    build(settings, NUMBER, None)
    assert not build(settings, file_of(tmp_path, authors=""), None).published
    arxiv.publish("2401.00002", source=tarball({"main.tex": (TEX % ("Sorting", "")).encode()}), title="Sorting")
    build(settings, "2401.00002", None)
    with pytest.raises(InputError, match=r"id arxiv:2401\.00002 .*else title:sorting"):
        build(settings, file_of(tmp_path, "Sorting", authors=""), None)
    assert papers(settings) == ["arxiv:2401.00002", f"arxiv:{NUMBER}"]


def test_a_list_of_both_forms_and_the_title_gives_one_paper(settings: Settings, tmp_path: Path) -> None:
    file_of(tmp_path)
    (tmp_path / "list").write_text(f"{NUMBER}\nown.tex\n{TITLE}\nNo paper has such a title\n")
    report = run(settings, read_list(tmp_path / "list"), EngineHere(), clock=CLOCK)
    assert [row.state for row in report.rows] == ["built", "unchanged", "unchanged", "failed"]
    assert {row.paper for row in report.rows[:3]} == {f"arxiv:{NUMBER}"}
    assert "title" in report.rows[3].reason
    assert papers(settings) == [f"arxiv:{NUMBER}"]


@pytest.mark.parametrize("last", ["file", "arxiv"])
def test_two_forms_that_are_built_at_once_become_one_paper(settings: Settings, tmp_path: Path, last: str) -> None:
    build_both_forms_at_once(settings, tmp_path, last)


def test_two_forms_that_are_built_at_once_become_one_paper_of_a_neo4j(
    settings: Settings, tmp_path: Path, neo4j_database: Neo4jServer
) -> None:
    store = store_of(neo4j_database, tmp_path)
    build_both_forms_at_once(settings.model_copy(update={"store": store}), tmp_path, "arxiv")


def build_both_forms_at_once(settings: Settings, folder: Path, last: str) -> None:
    forms = [NUMBER, str(file_of(folder))] if last == "file" else [str(file_of(folder)), NUMBER]
    first, other = forms
    waiting = [first]

    def publish(paper: Unpublished) -> BuildResult:
        if waiting:
            build(settings, waiting.pop(), None)  # meanwhile, another process claims and publishes it
        return OwnGraph(settings).publish(paper)

    with Builder(settings, clock=CLOCK) as builder:
        built = builder.build(other, None, publish=publish)
    only = papers(settings)
    assert [built.paper] == only
    assert len(only) == 1


def store_of(server: Neo4jServer, folder: Path) -> StoreSettings:
    credentials = folder / "neo4j.env"
    credentials.write_text(f"NEO4J_USERNAME={server.user}\nNEO4J_PASSWORD={server.password}\n")
    credentials.chmod(0o600)
    return StoreSettings(url=server.url, credentials=credentials)
