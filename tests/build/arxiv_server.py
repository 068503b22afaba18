"""Imitates arXiv on loopback: the Atom feed of its API, sources, PDFs, and possible faults."""

import gzip
import io
import math
import re
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
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
    """Returns an API response with these entries, out of `count` in total."""
    total = len(entries) if count is None else count
    return _FEED.format(count=total, start=start, size=size, entries="".join(entries)).encode()


@dataclass
class StandInPaper:
    """A paper with its newest version. `source` and `printed` are the bytes of its e-print and its PDF, or None. If
    `listed` is False, arXiv does not list the paper, but indexes of papers do."""

    number: str
    title: str
    abstract: str = ""
    authors: tuple[str, ...] = ("Ada Writer", "Ben Scholar")
    published: str = "2021-03-05"
    comment: str = ""
    doi: str = ""
    source: bytes | None = None
    printed: bytes | None = None
    listed: bool = True
    version: int = 1

    def words(self) -> list[str]:
        return words(f"{self.title} {self.title} {self.abstract}")

    def entry(self, version: int) -> str:
        authors = "".join(f"<author><name>{escape(name)}</name></author>" for name in self.authors)
        doi = f"<arxiv:doi>{escape(self.doi)}</arxiv:doi>" if self.doi else ""
        name = f"{self.number}v{version}"
        return (
            f"<entry><id>http://arxiv.org/abs/{name}</id><updated>2023-01-01T00:00:00Z</updated>"
            f"<published>{self.published}T00:00:00Z</published><title>{escape(self.title)}</title>"
            f"<summary>{escape(self.abstract)}</summary>{authors}<arxiv:comment>{escape(self.comment)}</arxiv:comment>"
            f'<arxiv:primary_category term="stat.ML"/>{doi}'
            f'<link title="pdf" href="http://arxiv.org/pdf/{name}"/></entry>'
        )


@dataclass
class Arxiv:
    """Serves `files` by path, such as `/src/1203.01234v1`. Each of the `faults` is used once, in order, by a request
    whose path begins with the fault's path."""

    url: str = ""
    papers: dict[str, StandInPaper] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    faults: list[tuple[str, Fault]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)

    def add(self, *papers: StandInPaper) -> None:
        for paper in papers:
            self.papers[paper.number] = paper
            for kind, data in (("src", paper.source), ("pdf", paper.printed)):
                if data is not None:
                    self.files[f"/{kind}/{paper.number}v{paper.version}"] = data

    def publish(self, number: str, title: str = "Merging Light\n  Particles", **said: Any) -> None:
        usual = {"published": "2012-03-05", "doi": "10.1234/filters.5", "abstract": " An abstract\nof the API. "}
        self.add(StandInPaper(number, title, **{**usual, **said}))

    def answer(self, handler: BaseHTTPRequestHandler, _: bytes) -> None:
        parts = urlsplit(handler.path)
        self.requests.append(parts.path)
        self.times.append(time.time())
        self.agents.add(handler.headers["User-Agent"])
        for index, (path, fault) in enumerate(self.faults):
            if parts.path.startswith(path):
                del self.faults[index]
                fault(handler)
                return
        self.respond(handler, parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()})

    def respond(self, handler: BaseHTTPRequestHandler, path: str, query: dict[str, str]) -> None:
        if path == "/api/query":
            if "id_list" in query:
                found = [entry for each in query["id_list"].split(",") for entry in self._entries(each)]
            else:
                found = [paper.entry(paper.version) for paper in self.found(query["search_query"]) if paper.listed]
            start, size = int(query.get("start", 0)), int(query.get("max_results", 10))
            reply(handler, 200, feed(*found[start : start + size], count=len(found), start=start, size=size))
        elif path in self.files:
            reply(handler, 200, self.files[path])
        else:
            reply(handler, 404, b"No paper here")

    def _entries(self, asked: str) -> Iterator[str]:
        number, _, version = asked.partition("v")
        paper = self.papers.get(number)
        if paper is not None and paper.listed and int(version or 1) <= paper.version:
            yield paper.entry(int(version or paper.version))

    def found(self, query: str) -> list[StandInPaper]:
        """Returns the papers for a query such as `ti:"…" OR all:…`, best first."""
        scores: dict[str, float] = {}
        texts = {number: set(paper.words()) for number, paper in self.papers.items()}
        clauses = [
            [(name, " ".join(words(value))) for name, _, value in (term.strip().partition(":") for term in terms)]
            for terms in (clause.split(" AND ") for clause in query.split(" OR "))
        ]
        rarity = {
            value: math.log((1 + len(texts)) / (1 + sum(value in text for text in texts.values())))
            for clause in clauses
            for _, value in clause
        }
        for number, paper in self.papers.items():
            title = " ".join(words(paper.title))
            for clause in clauses:
                hits = [value in (title if name == "ti" else texts[number]) for name, value in clause]
                if all(hits):
                    weight = sum(1.0 if name == "ti" else rarity[value] for name, value in clause)
                    scores[number] = scores.get(number, 0.0) + weight
        return [self.papers[n] for n in sorted(scores, key=lambda n: (-scores[n], n))]


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


@contextmanager
def serving() -> Iterator[Arxiv]:
    state = Arxiv()
    with on_loopback(state.answer) as state.url:
        yield state


@contextmanager
def on_loopback(answer: Callable[[BaseHTTPRequestHandler, bytes], None]) -> Iterator[str]:
    """Yields the address of a server that passes each request, with its body, to `answer`."""

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
    """Sends half of the announced bytes, and closes the connection."""
    reply(handler, 200, b"x" * 500, {"Content-Length": "1000"})
    handler.close_connection = True


def without_end(size: int) -> Fault:
    """Sends `size` bytes without announcing a length."""

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            for _ in range(size >> 20):
                handler.wfile.write(bytes(1 << 20))
        except OSError:
            handler.close_connection = True

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
