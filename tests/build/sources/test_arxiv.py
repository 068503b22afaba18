import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.build import arxiv_server
from tests.build.arxiv_server import Arxiv, StandInPaper, cut, feed, says, status, tarball, without_end, zipped
from tests.build.paper.pdfs import column, pdf
from tests.clock import TurnedClock
from xkg.build.paper.archive import MOST_UNPACKED
from xkg.build.paper.read import parse_paper
from xkg.build.parsing.parsers import Parsers
from xkg.build.sources import arxiv, arxiv_feed
from xkg.build.sources.arxiv import ArxivSource
from xkg.build.sources.paper_source import PaperFile, find_paper
from xkg.errors import InputError, StoreError, UnsafeInputError

NUMBER = "1203.01234"
TEX = rb"""\documentclass{article}\title{Merging $\alpha$}\begin{document}\begin{abstract}We merge.\end{abstract}
\section{Light Merging} Two neighbours become one.\end{document}"""
SOURCE = tarball({"main.tex": TEX, "figure.eps": b"%!PS"})
PRINTED = pdf(
    [column(["# 1 Light Merging", "", "Two neighbours become one, " * 3, "and the mean is kept. " * 3], 60, 99)]
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Arxiv]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with arxiv_server.serving() as state:
        yield state


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
def fetch(server: Arxiv, tmp_path: Path, clock: TurnedClock, parsers: Parsers) -> Callable[..., PaperFile]:
    """Fetches with a new source each time, as a new process would."""

    def run(spec: str) -> PaperFile:
        return ArxivSource(tmp_path / "papers", server.url, parsers, clock=clock).paper(spec)

    return run


def kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


Fetch = Callable[..., PaperFile]


# --- downloads --------------------------------------------------------------------------------------------------------


def test_the_source_comes_with_what_arxiv_says(server: Arxiv, fetch: Fetch) -> None:
    server.publish(NUMBER, source=SOURCE, printed=PRINTED, version=2)
    paper = fetch(NUMBER)
    assert paper.path.read_bytes() == SOURCE
    document = paper.described(parse_paper(paper.path))
    assert (document.format, document.title) == ("latex", "Merging Light Particles")
    assert document.authors == ("Ada Writer", "Ben Scholar")
    assert (document.year, document.arxiv_id, document.doi) == (2012, NUMBER, "10.1234/filters.5")
    assert document.subfield == "stat.ML"
    assert document.abstract == "We merge."
    assert server.requests == ["/api/query", f"/src/{NUMBER}v2"]
    assert server.agents == {"xkg"}


@pytest.mark.parametrize(
    ("source", "format"),
    [(zipped(TEX), "latex"), (TEX, "latex"), (PRINTED, "pdf")],
    ids=["one zipped file", "one plain file", "a PDF in the place of the source"],
)
def test_sources_of_other_shapes(server: Arxiv, fetch: Fetch, source: bytes, format: str) -> None:
    server.publish("cs/0112017", source=source, published="2001-12-11")
    paper = fetch("arXiv:cs/0112017")
    assert parse_paper(paper.path).format == format
    assert (paper.arxiv_id, paper.year) == ("cs/0112017", 2001)
    assert paper.path.name.startswith("cs-0112017v1.")


@pytest.mark.parametrize(
    "source",
    [None, zipped(b"%!PS-Adobe-3.0\n(Two)show"), tarball({"paper.ps": b"%!PS"}), b"<html>source</html>"],
    ids=["none", "PostScript", "no TeX in it", "a page"],
)
def test_without_latex_the_pdf_is_read_and_that_is_said(server: Arxiv, fetch: Fetch, source: bytes | None) -> None:
    server.publish(NUMBER, source=source, printed=PRINTED)
    paper = fetch(NUMBER)
    assert parse_paper(paper.path).format == "pdf"
    [note] = paper.notes
    assert "no readable LaTeX source" in note
    assert fetch(NUMBER).notes == paper.notes  # a stored paper has the same notes


def test_a_version_is_fetched_once(server: Arxiv, fetch: Fetch) -> None:
    server.publish(NUMBER, source=SOURCE, version=2)
    server.files[f"/src/{NUMBER}v1"] = zipped(TEX)
    first = fetch(NUMBER + "v1")
    del server.requests[:]
    assert fetch(NUMBER + "v1") == first
    assert server.requests == []
    assert fetch(NUMBER).path.read_bytes() == SOURCE
    assert fetch(NUMBER).path.name == NUMBER + "v2.tar.gz"
    assert server.requests == ["/api/query", f"/src/{NUMBER}v2", "/api/query"]


def test_a_kept_file_that_was_damaged_is_fetched_anew(server: Arxiv, fetch: Fetch) -> None:
    server.publish(NUMBER, source=SOURCE)
    fetch(NUMBER).path.write_bytes(b"damaged")
    assert fetch(NUMBER + "v1").path.read_bytes() == SOURCE


def test_requests_keep_the_pause_of_the_terms_of_use(server: Arxiv, tmp_path: Path, clock: TurnedClock) -> None:
    server.publish(NUMBER, printed=PRINTED)
    ArxivSource(tmp_path, server.url, clock=clock).paper(NUMBER)
    assert len(server.requests) == 3
    assert clock.pauses == pytest.approx([3, 3])


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def told(server: Arxiv, fetch: Fetch, tmp_path: Path) -> Callable[..., str]:
    """Returns the error message of a failed download, which is one line. Checks that the files stored before are
    unchanged and that no other files remain."""
    server.publish("1101.00001", source=SOURCE)
    fetch("1101.00001")
    del server.requests[:]
    before = kept(tmp_path / "papers")

    def run(spec: str = NUMBER, kind: type[Exception] = InputError) -> str:
        with pytest.raises(kind) as raised:
            fetch(spec)
        line = str(raised.value)
        assert "\n" not in line
        assert "; " in line  # the message explains the failure and suggests a remedy
        assert kept(tmp_path / "papers") == before
        assert [path.name for path in (tmp_path / "papers").iterdir() if path.name.startswith(".")] == []
        return line

    return run


Told = Callable[..., str]


@pytest.mark.parametrize("path", ["/api", "/src"])
def test_a_busy_server_is_asked_again_when_it_says(server: Arxiv, fetch: Fetch, clock: TurnedClock, path: str) -> None:
    server.publish(NUMBER, source=SOURCE)
    server.faults += [(path, status(429, Retry_After="7")), (path, status(503))]
    assert fetch(NUMBER).path.read_bytes() == SOURCE
    assert 7 in clock.pauses
    assert 6 in clock.pauses  # without a time from the server, the second retry waits twice as long


@pytest.mark.parametrize("path", ["/api", "/src"])
def test_a_server_that_is_busy_for_ever(server: Arxiv, told: Told, clock: TurnedClock, path: str) -> None:
    server.publish(NUMBER, source=SOURCE)
    server.faults += [(path, status(429, Retry_After="2"))] * 50
    line = told()
    assert "429 (too many requests)" in line
    assert "try again later" in line
    assert len(server.requests) < 7
    assert sum(clock.pauses) < 60


def test_a_server_that_wants_hours(server: Arxiv, told: Told, clock: TurnedClock) -> None:
    server.faults += [("/api", status(429, Retry_After="7200"))]
    assert "asks clients to wait 7200 seconds; try again after that" in told()
    server.faults += [("/api", status(503, Retry_After="Fri, 31 Dec 2100 23:59:59 GMT"))]
    assert "asks clients to wait" in told()
    assert max(clock.pauses) <= 3


@pytest.mark.parametrize("path", ["/api", "/src"])
def test_a_connection_that_is_cut_is_made_again(server: Arxiv, fetch: Fetch, told: Told, path: str) -> None:
    server.publish(NUMBER, source=SOURCE)
    server.faults += [(path, cut)] * 4
    assert "could not be fetched in 4 tries: the response was cut short" in told()
    server.faults += [(path, cut)] * 3
    assert fetch(NUMBER).path.read_bytes() == SOURCE


def test_a_server_that_is_down(tmp_path: Path) -> None:
    with arxiv_server.serving() as gone:
        pass
    with pytest.raises(
        InputError, match=r"127\.0\.0\.1:\d+ cannot be reached; check the network and the arxiv\.url setting"
    ):
        ArxivSource(tmp_path, gone.url).paper(NUMBER)
    assert kept(tmp_path) == {}


def test_what_was_fetched_stands_in_where_arxiv_is_down(server: Arxiv, fetch: Fetch) -> None:
    server.publish(NUMBER, source=SOURCE, version=9)
    fetch(NUMBER)
    server.publish(NUMBER, source=zipped(TEX), version=10)
    newest = fetch(NUMBER)
    server.faults += [("/api", status(502))] * 4
    paper = fetch(NUMBER)
    assert paper.path == newest.path
    [note] = paper.notes
    assert f"used arXiv:{NUMBER}v10, which was fetched earlier" in note


def test_a_server_that_sends_a_byte_now_and_then(server: Arxiv, told: Told, clock: TurnedClock) -> None:
    done = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not done.wait(0.01):
            clock.turn(10)
            try:
                handler.wfile.write(b".")
                handler.wfile.flush()
            except OSError:
                return

    server.publish(NUMBER, source=SOURCE)
    server.faults += [("/src", drip)]
    try:
        assert "timed out after 300 seconds; try again later" in told()
    finally:
        done.set()


@pytest.mark.parametrize(("path", "limit"), [("/api", "_LARGEST_FEED"), ("/src", "LARGEST_ARCHIVE")])
def test_more_than_any_paper_is_not_waited_for(
    server: Arxiv, told: Told, monkeypatch: pytest.MonkeyPatch, path: str, limit: str
) -> None:
    monkeypatch.setattr(arxiv_feed if path == "/api" else arxiv, limit, 3_000_000)
    server.publish(NUMBER, source=SOURCE)
    server.faults += [(path, without_end(2 * MOST_UNPACKED))]
    assert "has more than 3 MB, too large for a paper" in told(kind=UnsafeInputError)


def test_an_unknown_id(server: Arxiv, told: Told) -> None:
    assert told("2401.99999") == "arXiv has no paper 2401.99999; check the id and the version"
    server.publish(NUMBER, source=SOURCE)
    assert told(NUMBER + "v7") == f"arXiv has no paper {NUMBER}v7; check the id and the version"
    server.faults += [("/api", status(400))]
    assert "has no paper" in told()
    server.faults += [("/api", says(feed(StandInPaper("9999.00001", "Another").entry(1))))]
    assert "has no paper" in told()


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>Log in to the network of this hotel</html>",
     feed(StandInPaper(NUMBER, "Merging", published="soon").entry(1))],
    ids=["nothing", "a page", "a date that is none"],
)  # fmt: skip
def test_what_is_no_feed_is_told(server: Arxiv, told: Told, body: bytes) -> None:
    server.faults += [("/api", says(body))]
    assert "does not respond like arXiv; check the network and the arxiv.url setting" in told()


@pytest.mark.parametrize(
    "source",
    [None, zipped(b"%auto-ignore\nThis paper has been withdrawn by the authors.")],
    ids=["no file", "a notice"],
)
def test_a_withdrawn_paper(server: Arxiv, fetch: Fetch, told: Told, source: bytes | None) -> None:
    said = "This paper has been withdrawn: Lemma 2 is wrong"
    server.publish(NUMBER, source=source, version=3, comment=said)
    assert told() == f"arXiv:{NUMBER}v3 was withdrawn ({said}); use an earlier version, such as {NUMBER}v2, or " + (
        "pass the paper's own files"
    )
    server.files[f"/src/{NUMBER}v2"] = SOURCE
    assert fetch(NUMBER + "v2").path.read_bytes() == SOURCE


def test_a_paper_without_any_file(server: Arxiv, told: Told) -> None:
    server.publish(NUMBER)
    assert "neither source nor PDF for arXiv:1203.01234v1; instead, pass the paper's own files" in told()
    server.publish(NUMBER, printed=b"<html>The PDF is being made</html>", version=2)
    assert "such as 1203.01234v1" in told()


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (tarball({"main.tex": TEX, "../../outside.tex": b"x"}), "'../../outside.tex', a path outside the archive"),
        (tarball({"/etc/cron.d/x": b"x", "main.tex": TEX}), "a path outside the archive"),
        (zipped(bytes(30_000_000)), "a file larger than 8 MB"),
        (tarball({"a.tex": TEX, "figure.eps": bytes(60_000_000)}), "unpacks to more than 300 times its size"),
    ],
    ids=["..", "absolute", "a bomb of one file", "a bomb in an archive"],
)
def test_a_hostile_source_is_not_unpacked(server: Arxiv, told: Told, tmp_path: Path, source: bytes, what: str) -> None:
    server.publish(NUMBER, source=source, printed=PRINTED)
    line = told(kind=UnsafeInputError)
    assert line.startswith(f"the source of arXiv:{NUMBER}v1 ")
    assert what in line
    assert line.endswith(f"download {server.url}/pdf/{NUMBER}v1 and use that")
    assert not (tmp_path / "outside.tex").exists()


def test_a_source_that_is_damaged_is_asked_for_again_next_time(server: Arxiv, fetch: Fetch) -> None:
    server.publish(NUMBER, source=SOURCE[:60], printed=PRINTED)
    paper = fetch(NUMBER)
    assert parse_paper(paper.path).format == "pdf"
    assert paper.notes == (f"the source of arXiv:{NUMBER}v1 is a corrupt archive: the PDF was used instead",)
    server.files[f"/src/{NUMBER}v1"] = SOURCE
    assert parse_paper(fetch(NUMBER).path).format == "latex"


def test_a_folder_that_cannot_be_written(server: Arxiv, tmp_path: Path) -> None:
    server.publish(NUMBER, source=SOURCE)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write"):
        ArxivSource(tmp_path / "file" / "papers", server.url, clock=TurnedClock()).paper(NUMBER)


# --- choices of papers ------------------------------------------------------------------------------------------------


def test_a_path_that_exists_goes_before_a_name(server: Arxiv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.publish(NUMBER, source=SOURCE)
    monkeypatch.chdir(tmp_path)
    source = ArxivSource(tmp_path / "papers", server.url, clock=TurnedClock())
    assert find_paper(NUMBER, [source]).arxiv_id == NUMBER
    Path(NUMBER).mkdir()
    assert find_paper(NUMBER, [source]) == PaperFile(path=Path(NUMBER))
    assert find_paper("gone.tex", [source]) == PaperFile(path=Path("gone.tex"))
    assert find_paper("x" * 5000, [source]).path.name == "x" * 5000


def test_an_address_elsewhere_is_refused() -> None:
    with pytest.raises(InputError, match=r"^https://example\.org/paper\.pdf is not an arXiv address; pass an arXiv id"):
        find_paper("https://example.org/paper.pdf", [])


@pytest.mark.parametrize("path", ["/api", "/src"])
def test_a_redirect_leads_to_no_other_host(server: Arxiv, told: Told, path: str) -> None:
    server.publish(NUMBER, source=SOURCE)
    server.faults += [(path, status(302, Location="http://elsewhere.example.org/x"))]
    assert "redirects to another host, elsewhere.example.org, which is not followed" in told(kind=UnsafeInputError)


@pytest.mark.parametrize("user", ["127.0.0.1:9\\", "127.0.0.1:9#", "127.0.0.1:9/"])
def test_a_redirect_cannot_dress_up_as_a_known_host(server: Arxiv, told: Told, user: str) -> None:
    server.publish(NUMBER, source=SOURCE)
    server.faults += [("/src", status(302, Location=f"http://{user}@export.arxiv.org/x"))]
    assert "which is not followed" in told(kind=UnsafeInputError)


def test_a_redirect_on_the_same_host_is_followed(server: Arxiv, fetch: Fetch) -> None:
    server.publish(NUMBER, source=SOURCE)
    server.files["/moved"] = SOURCE
    server.faults += [("/src", status(302, Location="/moved"))]
    assert fetch(NUMBER).path.read_bytes() == SOURCE


def test_redirects_without_end(server: Arxiv, told: Told) -> None:
    server.publish(NUMBER, source=SOURCE)
    server.faults += [("/src", status(302, Location=f"/src/{NUMBER}v1"))] * 50
    assert "redirects too many times" in told()
