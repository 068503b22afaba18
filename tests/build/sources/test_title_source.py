"""Looks up titles as names of papers, with the real client and an arXiv server on loopback."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.build import arxiv_server
from tests.build.arxiv_server import Arxiv, status, tarball
from tests.clock import TurnedClock
from xkg.build.parsing.parsers import Parsers
from xkg.build.sources.arxiv import ArxivSource
from xkg.build.sources.arxiv_index import ArxivIndex
from xkg.build.sources.paper_source import PaperFile, find_paper
from xkg.build.sources.title_source import TitleSource
from xkg.errors import InputError

SOURCE = tarball({"main.tex": rb"\documentclass{article}\begin{document}\section{One} Text.\end{document}"})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Arxiv]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with arxiv_server.serving() as state:
        for number, title in (
            ("2401.00001", "Merging Light Particles"),
            ("2401.00002", "Merging light particles: a survey"),
            ("2401.00003", "Deep Sorting"),
            ("2401.00004", "Deep sorting"),
        ):
            state.publish(number, source=SOURCE, title=title)
        yield state


class Ask:
    def __init__(self, server: Arxiv, folder: Path, parsers: Parsers) -> None:
        papers = ArxivSource(folder / "papers", server.url, parsers, clock=TurnedClock())
        index = ArxivIndex(server.url, clock=TurnedClock())
        self.titles, self.best = (TitleSource(index, papers, first=first) for first in (False, True))
        self.papers = papers

    def __call__(self, title: str, *, first: bool = False) -> PaperFile:
        return find_paper(title, (self.papers, self.best if first else self.titles))


@pytest.fixture
def ask(server: Arxiv, tmp_path: Path, parsers: Parsers) -> Ask:
    return Ask(server, tmp_path, parsers)


def test_the_paper_that_has_the_title_is_taken_whatever_its_case(ask: Ask) -> None:
    found = ask("merging light PARTICLES.")
    assert (found.arxiv_id, found.title) == ("2401.00001", "Merging Light Particles")
    assert any("2401.00001" in note for note in found.notes)


def test_several_are_listed_and_the_first_is_taken_on_request(ask: Ask) -> None:
    with pytest.raises(InputError, match=r"2 papers .*2401\.00003 Deep Sorting, Ada Writer.*2401\.00004.*--first"):
        ask("Deep sorting")
    assert ask("Deep sorting", first=True).arxiv_id == "2401.00003"


def test_what_no_paper_has_names_the_nearest(ask: Ask) -> None:
    with pytest.raises(InputError, match="no paper titled 'Braided cable theory'"):
        ask("Braided cable theory")
    with pytest.raises(InputError, match=r"nearest: .*2401\.00002 Merging light particles: a survey"):
        ask("light particles: a survey")
    assert ask("light particles: a survey", first=True).arxiv_id == "2401.00002"


def test_an_index_that_does_not_answer_is_no_title_without_paper(ask: Ask, server: Arxiv) -> None:
    server.faults = [("/api", status(500))] * 10
    with pytest.raises(InputError, match="500"):
        ask("Merging light particles")


@pytest.mark.parametrize("spec", ["paper.tex", "folder/paper of mine", "https://example.org/a b", "../x", "12", ""])
def test_paths_and_addresses_are_no_titles(ask: Ask, spec: str) -> None:
    assert not ask.titles.names(spec)
