from collections.abc import Callable

import pytest

from tests.build.arxiv_server import Fault, cut, says, status
from tests.build.curation.conftest import scholarly  # noqa: F401
from tests.build.scholarly_stand_in import Scholarly, StandInPaper
from tests.clock import TurnedClock
from xkg.build.sources.arxiv_index import ArxivIndex
from xkg.build.sources.openalex_index import OpenAlexIndex
from xkg.build.sources.paper_index import PaperIndex
from xkg.errors import InputError

MAKERS: dict[str, Callable[[Scholarly], PaperIndex]] = {
    "arXiv": lambda server: ArxivIndex(server.url, clock=TurnedClock()),
    "OpenAlex": lambda server: OpenAlexIndex(server.openalex, clock=TurnedClock()),
}
PATHS = {"arXiv": "/api", "OpenAlex": "/openalex"}
every = pytest.mark.parametrize("name", list(MAKERS))


@pytest.fixture
def server(scholarly: Scholarly) -> Scholarly:  # noqa: F811
    scholarly.add(
        StandInPaper("2001.00001", "Wave Transport: of Particles", "Waves move.", doi="10.1234/wave.1"),
        StandInPaper("2001.00002", "Moon Kernels", "Kernels weigh.", ("Cal Luna",), comment="12 pages"),
        *(StandInPaper(f"2002.{n:05}", f"Currents of the sea, part {n}", "Currents.") for n in range(120)),
        StandInPaper("9999.00001", "A Book on Tides", listed=False, doi="10.1234/book"),
    )
    return scholarly


@every
def test_papers_by_id(server: Scholarly, name: str) -> None:
    found = {paper.arxiv_id: paper for paper in MAKERS[name](server).by_arxiv_ids(["2001.00002", "2001.99999"])}
    assert set(found) == {"2001.00002"}
    paper = found["2001.00002"]
    assert (paper.source, paper.title, paper.authors) == (name, "Moon Kernels", ("Cal Luna",))
    assert (paper.published, paper.year) == ("2021-03-05", 2021)
    if name == "arXiv":
        assert (paper.abstract, paper.comment) == ("Kernels weigh.", "12 pages")


@every
def test_papers_by_doi(server: Scholarly, name: str) -> None:
    index = MAKERS[name](server)
    found = index.by_dois(["10.1234/WAVE.1", "10.1234/none"])
    assert [paper.arxiv_id for paper in found] == ([] if name == "arXiv" else ["2001.00001"])
    [own] = index.by_dois(["10.48550/arXiv.2001.00002"])
    assert own.arxiv_id == "2001.00002"


@every
def test_papers_by_title(server: Scholarly, name: str) -> None:
    titles = ['Moon "Kernels"', "Wave transport -- of particles", "Nothing of the kind"]
    found = {paper.title for paper in MAKERS[name](server).by_titles(titles)}
    assert {"Moon Kernels", "Wave Transport: of Particles"} <= found


@every
def test_a_search_gives_the_best_first(server: Scholarly, name: str) -> None:
    index = MAKERS[name](server)
    assert next(iter(index.search("transport of waves and particles", 3))).arxiv_id == "2001.00001"
    assert len(index.search("currents sea", 7)) == 7
    assert list(index.search("?!", 3)) == []


def test_arxiv_is_asked_for_many_at_once(server: Scholarly) -> None:
    ids = [f"2002.{n:05}" for n in range(120)]
    assert len(MAKERS["arXiv"](server).by_arxiv_ids(ids)) == 120
    assert len(server.requests) == 2


def test_openalex_goes_over_pages_with_its_cursor(server: Scholarly) -> None:
    dois = [f"10.48550/arxiv.2002.{n:05}" for n in range(60)]
    assert len(MAKERS["OpenAlex"](server).by_dois(dois)) == 60


def test_a_work_without_arxiv_has_no_id(server: Scholarly) -> None:
    [book] = MAKERS["OpenAlex"](server).by_dois(["10.1234/book"])
    assert (book.arxiv_id, book.doi) == (None, "10.1234/book")


@every
@pytest.mark.parametrize(
    "fault",
    [
        says(b"<html>Log in</html>"),
        says(b"[]"),
        says(b'{"data": [{"title": 3}], "results": [4], "meta": 5}'),
        status(500),
        status(429, Retry_After="9000"),
        status(302, Location="https://elsewhere.example.org/"),
        cut,
    ],
    ids=["a page", "a list", "odd values", "500", "busy", "elsewhere", "cut"],
)
def test_an_index_that_fails_says_so_in_one_line(server: Scholarly, name: str, fault: Fault) -> None:
    server.faults += [(PATHS[name], fault)] * 20
    for ask in (lambda index: index.search("moon kernels", 3), lambda index: index.by_arxiv_ids(["2001.00002"])):
        message, found = "", ()
        try:
            found = ask(MAKERS[name](server))
        except InputError as error:
            message = str(error)
        assert "\n" not in message
        assert list(found) == []
