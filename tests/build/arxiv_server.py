"""A server on loopback that speaks as arXiv does: the Atom feed of its API, sources, PDFs, and what can go wrong."""

import gzip
import io
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

from tests.loopback import QuietHandler, Served

_FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/"
 xmlns:arxiv="http://arxiv.org/schemas/atom"><title>arXiv Query</title><id>http://arxiv.org/api/x</id>
<opensearch:totalResults>{count}</opensearch:totalResults><opensearch:startIndex>{start}</opensearch:startIndex>
<opensearch:itemsPerPage>{size}</opensearch:itemsPerPage>{entries}</feed>"""

Fault = Callable[[BaseHTTPRequestHandler], None]


def feed(*entries: str, count: int | None = None, start: int = 0, size: int = 1) -> bytes:
    """An answer of the API with these entries, of `count` in all."""
    total = len(entries) if count is None else count
    return _FEED.format(count=total, start=start, size=size, entries="".join(entries)).encode()


@dataclass
class Listed:
    """A paper that the API knows, with its newest version."""

    number: str
    version: int = 1
    title: str = "Merging Light\n  Particles"
    authors: tuple[str, ...] = ("Ada Writer", "Ben Scholar")
    comment: str = ""
    published: str = "2012-03-05T17:59:46Z"

    def entry(self, version: int) -> str:
        authors = "".join(f"<author><name>{name}</name></author>" for name in self.authors)
        name = f"{self.number}v{version}"
        return (
            f"<entry><id>http://arxiv.org/abs/{name}</id><updated>2013-01-01T00:00:00Z</updated>"
            f"<published>{self.published}</published><title>{escape(self.title)}</title><summary> An abstract\n"
            f"of the API. </summary>{authors}<arxiv:comment>{escape(self.comment)}</arxiv:comment>"
            f'<arxiv:primary_category term="stat.ML"/>'
            f'<arxiv:doi>10.1234/filters.5</arxiv:doi><link title="pdf" href="http://arxiv.org/pdf/{name}"/></entry>'
        )


@dataclass
class Arxiv:
    """`files` by path, such as `/src/1203.01234v1`. `faults` are met in order, one a request whose path begins so."""

    url: str = ""
    listed: dict[str, Listed] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    faults: list[tuple[str, Fault]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)

    def publish(
        self, number: str, *, source: bytes | None = None, printed: bytes | None = None, **said: object
    ) -> None:
        paper = self.listed[number] = Listed(number, **said)  # type: ignore[arg-type]
        for kind, data in (("src", source), ("pdf", printed)):
            if data is not None:
                self.files[f"/{kind}/{number}v{paper.version}"] = data

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        self.requests.append(parts.path)
        self.agents.add(handler.headers["User-Agent"])
        for index, (path, fault) in enumerate(self.faults):
            if parts.path.startswith(path):
                del self.faults[index]
                fault(handler)
                return
        if parts.path == "/api/query":
            asked = parse_qs(parts.query)
            found = (
                self._by_ids(asked["id_list"][0]) if "id_list" in asked else self._by_titles(asked["search_query"][0])
            )
            most = int(asked.get("max_results", ["10"])[0])
            reply(handler, 200, feed(*found[:most]))
        elif parts.path in self.files:
            reply(handler, 200, self.files[parts.path])
        else:
            reply(handler, 404, b"No paper here")

    def _by_ids(self, asked: str) -> list[str]:
        found = []
        for each in asked.split(","):
            number, _, version = each.partition("v")
            paper = self.listed.get(number)
            if paper is not None and int(version or 1) <= paper.version:
                found.append(paper.entry(int(version or paper.version)))
        return found

    def _by_titles(self, query: str) -> list[str]:
        """Papers whose title holds a phrase of the query, `ti:"…"`, as arXiv finds them."""
        phrases = [" ".join(words.casefold().split()) for words in re.findall(r'ti:"([^"]*)"', query)]
        return [
            paper.entry(paper.version)
            for paper in self.listed.values()
            if any(phrase in " ".join(re.findall(r"\w+", paper.title.casefold())) for phrase in phrases)
        ]


@contextmanager
def serving() -> Iterator[Arxiv]:
    state = Arxiv()
    with on_loopback(lambda handler, _: state.answer(handler)) as state.url:
        yield state


@contextmanager
def on_loopback(answer: Callable[[BaseHTTPRequestHandler, bytes], None]) -> Iterator[str]:
    """The address of a server that gives each request, with its body, to `answer`."""

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.0"

        def do_GET(self) -> None:
            answer(self, b"")

        def do_POST(self) -> None:
            answer(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

    with Served(Handler) as server:
        yield server.url


def reply(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def status(code: int, **headers: str) -> Fault:
    return lambda handler: reply(handler, code, b"", {name.replace("_", "-"): v for name, v in headers.items()})


def says(body: bytes) -> Fault:
    return lambda handler: reply(handler, 200, body)


def cut(handler: BaseHTTPRequestHandler) -> None:
    """Half of what was announced, then the connection ends."""
    reply(handler, 200, b"x" * 500, {"Content-Length": "1000"})
    handler.close_connection = True


def without_end(size: int) -> Fault:
    """`size` bytes of no announced length."""

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            for _ in range(size >> 20):
                handler.wfile.write(bytes(1 << 20))
        except OSError:
            handler.close_connection = True  # the reader has seen enough

    return send


def tarball(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def zipped(text: bytes) -> bytes:
    return gzip.compress(text)
