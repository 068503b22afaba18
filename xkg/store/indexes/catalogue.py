"""The catalogue of a generation: nodes by id, ready to serve, in one read-only SQLite file.

LadybugDB answers Cypher; looking nodes up there costs a query each, here a keyed read. Ids are kept as bytes and bodies
as ASCII JSON, so every string comes back as it was. A technique's `row` numbers it in the vector and text index too.
"""

import functools
import json
import re
import sqlite3
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from xkg.model import Code, Level, Paper, PaperBundle, Technique
from xkg.store.bundles import BundleFile
from xkg.store.concepts.linking import Concept, RowLink
from xkg.store.graph_store import Facts, Heading, Link, TechniqueView
from xkg.store.index_entries import Entry

_SCHEMA = """
CREATE TABLE paper (
    number INTEGER PRIMARY KEY, id BLOB UNIQUE, title TEXT, file TEXT, key TEXT, year INTEGER, body TEXT
);
CREATE INDEX paper_key ON paper (key);
CREATE INDEX paper_year ON paper (year);
CREATE TABLE cites (citing INTEGER, cited INTEGER, PRIMARY KEY (citing, cited)) WITHOUT ROWID;
CREATE INDEX cites_cited ON cites (cited);
CREATE TABLE technique (
    row INTEGER PRIMARY KEY, id BLOB UNIQUE, paper INTEGER, parent INTEGER, path TEXT, text_sha256 BLOB, body TEXT
);
CREATE INDEX technique_parent ON technique (parent);
CREATE INDEX technique_paper ON technique (paper);
CREATE TABLE code (technique INTEGER PRIMARY KEY, id BLOB UNIQUE, facts TEXT, body TEXT);
CREATE TABLE words (technique INTEGER PRIMARY KEY, codes BLOB);
CREATE TABLE name (key TEXT, technique INTEGER, PRIMARY KEY (key, technique)) WITHOUT ROWID;
CREATE TABLE form (form TEXT, terse INTEGER, technique INTEGER, PRIMARY KEY (form, terse, technique)) WITHOUT ROWID;
CREATE TABLE relinked (first BLOB, second BLOB, PRIMARY KEY (first, second)) WITHOUT ROWID;
CREATE TABLE link (first INTEGER, second INTEGER, score REAL, how TEXT, PRIMARY KEY (first, second)) WITHOUT ROWID;
CREATE INDEX link_second ON link (second);
"""
_BATCH = 500

CACHED_VIEWS = 2048
CACHED_IDS = 100_000
_CACHED_YEARS = 16
_LAST_YEAR = 1_000_000  # SQLite takes no number of any size
"""So much of what was read stays in memory: about 20 MB each."""


class CatalogueWriter:
    """Fills a new catalogue, or one that nobody reads yet; `close` leaves a finished file. Rows and papers are numbered
    from `rows` and `papers`, which say afterwards how far."""

    def __init__(self, path: Path, *, rows: int = 0, papers: int = 0) -> None:
        schema = "" if path.exists() else _SCHEMA
        self._db = sqlite3.connect(path)
        self._db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 4096;" + schema)
        self.papers = papers
        self.rows = rows

    def add(self, bundle: PaperBundle, file: BundleFile, entries: Sequence[tuple[Entry, bytes]]) -> list[int]:
        """Adds a paper with its visible techniques and the hashes of their vector texts; gives their rows."""
        paper = self.papers
        self.papers += 1
        self._db.execute(
            "INSERT INTO paper VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                paper,
                _key(bundle.paper.id),
                _json(bundle.paper.title),
                file.name,
                name_key(bundle.paper.title),
                bundle.paper.year,
                _json(bundle.paper.model_dump()),
            ),
        )
        rows: dict[str, int] = {}
        for entry, text_sha256 in entries:
            technique = entry.technique
            row = self.rows
            self.rows += 1
            rows[technique.id] = row
            parent = None if technique.parent is None else rows[technique.parent]
            body = _json(technique.model_dump())
            self._db.execute(
                "INSERT INTO technique VALUES (?, ?, ?, ?, ?, ?, ?)",
                (row, _key(technique.id), paper, parent, _json(entry.path), text_sha256, body),
            )
            if entry.code is not None:
                code = entry.code
                # Beside the body, which spans pages: filters ask for them of many.
                facts = _json([code.level, code.language, code.packages])
                values = (row, _key(code.id), facts, _json(code.model_dump()))
                self._db.execute("INSERT INTO code VALUES (?, ?, ?, ?)", values)
            names = {name_key(name) for name in (technique.name, *technique.aliases)} - {""}
            self._db.executemany("INSERT INTO name VALUES (?, ?)", [(name, row) for name in sorted(names)])
        return list(rows.values())

    def remove(self, papers: Iterable[int]) -> None:
        """Takes papers out, with all but their links."""
        for paper in papers:
            own = "(SELECT row FROM technique WHERE paper = ?)"
            for table in ("code", "words", "name", "form"):
                self._db.execute(f"DELETE FROM {table} WHERE technique IN {own}", (paper,))
            self._db.execute("DELETE FROM technique WHERE paper = ?", (paper,))
            self._db.execute("DELETE FROM paper WHERE number = ?", (paper,))

    def words(self, codes: Iterable[tuple[int, bytes]]) -> None:
        """Adds the codes of the words (`xkg.embeddings.base`) of techniques, by row."""
        self._db.executemany("INSERT INTO words VALUES (?, ?)", codes)

    def name(self, concepts: Iterable[Concept]) -> None:
        """Adds the forms of names that link techniques (`xkg.store.concepts.names`)."""
        for concept in concepts:
            named = concept.names
            for terse, forms in enumerate((named.telling, named.terse)):
                self._db.executemany(
                    "INSERT INTO form VALUES (?, ?, ?)", [(f, terse, concept.row) for f in sorted(forms)]
                )

    def link(self, links: Iterable[RowLink]) -> None:
        """Adds pairs of techniques that are one concept, or may be."""
        self._db.executemany("INSERT INTO link VALUES (?, ?, ?, ?)", map(astuple, links))

    def relink(self, links: Iterable[RowLink], papers: Iterable[tuple[str, str]]) -> None:
        """Puts `links` in the place of all; what a base says of two of these `papers` counts no more."""
        self._db.execute("DELETE FROM link")
        self.link(links)
        pairs = [(_key(first), _key(second)) for first, second in papers]
        self._db.executemany("INSERT OR IGNORE INTO relinked VALUES (?, ?)", pairs)

    def cite(self) -> None:
        """Adds which of the papers cite which."""
        from xkg.store.concepts.citations import PaperIndex, cited_papers

        numbers = {_id(key): number for key, number in self._db.execute("SELECT id, number FROM paper")}
        index = PaperIndex(self._papers("json_remove(body, '$.references', '$.abstract', '$.claims', '$.code_files')"))
        for paper in self._papers("body"):
            pairs = [(numbers[paper.id], numbers[other]) for other in cited_papers(paper, index)]
            self._db.executemany("INSERT INTO cites VALUES (?, ?)", pairs)

    def _papers(self, body: str) -> Iterator[Paper]:
        for (found,) in self._db.execute(f"SELECT {body} FROM paper ORDER BY id"):
            yield Paper.model_validate(json.loads(found))

    def close(self) -> None:
        self._db.commit()
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()


class Catalogue:
    """Reads a finished catalogue; may be used from several threads. Unknown ids give None or are left out."""

    def __init__(self, path: Path) -> None:
        # "immutable" reads without locks or journals, also from a folder that may not be written.
        self._db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        self._turn = threading.Lock()
        # A finished catalogue never changes, so what was read of it is as good as what is in it.
        self._views = functools.lru_cache(CACHED_VIEWS)(self._view)
        self._ids: dict[int, str] = {}
        self._rows: dict[str, int] = {}
        self._count: int | None = None
        self._of_years: dict[tuple[int | None, int | None], list[str]] = {}

    def close(self) -> None:
        self._views.cache_clear()
        with self._turn:
            self._db.close()

    def papers(self) -> list[Paper]:
        return [
            Paper.model_validate(json.loads(body)) for (body,) in self._all("SELECT body FROM paper ORDER BY number")
        ]

    def paper_count(self) -> int:
        if self._count is None:
            self._count = int(self._all("SELECT count(*) FROM paper")[0][0])
        return self._count

    def called(self, words: str) -> list[str]:
        """Ids of the papers of this title, up to case, spaces and punctuation, in order."""
        key = name_key(words)
        return [
            _id(found) for (found,) in self._all("SELECT id FROM paper WHERE key = ? ORDER BY number", (key,)) if key
        ]

    def headings(self, ids: Iterable[str]) -> dict[str, Heading]:
        wanted = list(ids)
        found: dict[str, Heading] = {}
        for part in _batches([_key(paper) for paper in wanted]):
            marks = ",".join("?" * len(part))
            for key, title, year in self._all(f"SELECT id, title, year FROM paper WHERE id IN ({marks})", part):
                found[_id(key)] = Heading(json.loads(title), year)
        return {paper: found[paper] for paper in wanted if paper in found}

    def of_years(self, first: int | None, last: int | None) -> list[str]:
        """Ids of the papers that appeared from `first` to `last`, in order."""
        first, last = (year if year is None else max(-_LAST_YEAR, min(year, _LAST_YEAR)) for year in (first, last))
        known = self._of_years
        if (first, last) not in known:
            within = "year >= coalesce(?, year) AND year <= coalesce(?, year)"
            found = self._all(f"SELECT id FROM paper WHERE {within} ORDER BY number", (first, last))
            cache = known if len(known) < _CACHED_YEARS else {}
            known = self._of_years = {**cache, (first, last): [_id(key) for (key,) in found]}
        return known[first, last]

    def citations_of(self, paper: str) -> tuple[set[str], set[str]]:
        """Ids of the papers that one cites, and of those that cite it."""
        cited, citing = (
            self._all(
                f"SELECT o.id FROM cites JOIN paper p ON p.number = {own} JOIN paper o ON o.number = {other} "
                "WHERE p.id = ?",
                (_key(paper),),
            )
            for own, other in (("citing", "cited"), ("cited", "citing"))
        )
        return {_id(key) for (key,) in cited}, {_id(key) for (key,) in citing}

    def paper_file(self, paper: str) -> str | None:
        """The name of a paper's bundle file."""
        found = self._all("SELECT file FROM paper WHERE id = ?", (_key(paper),))
        return str(found[0][0]) if found else None

    def technique(self, technique: str) -> TechniqueView | None:
        return self._views(technique)

    def _view(self, technique: str) -> TechniqueView | None:
        found = self._all(
            "SELECT t.row, t.body, t.path, p.title, c.body FROM technique t JOIN paper p ON p.number = t.paper "
            "LEFT JOIN code c ON c.technique = t.row WHERE t.id = ?",
            (_key(technique),),
        )
        if not found:
            return None
        row, body, path, title, code = found[0]
        children = self._all("SELECT body FROM technique WHERE parent = ? ORDER BY row", (row,))
        return TechniqueView(
            technique=Technique.model_validate(json.loads(body)),
            paper_title=json.loads(title),
            path=tuple(json.loads(path)),
            children=tuple(Technique.model_validate(json.loads(child)) for (child,) in children),
            code=None if code is None else Code.model_validate(json.loads(code)),
        )

    def code(self, code: str) -> Code | None:
        found = self._all("SELECT body FROM code WHERE id = ?", (_key(code),))
        return Code.model_validate(json.loads(found[0][0])) if found else None

    def named(self, name: str) -> list[str]:
        found = self._all(
            "SELECT t.id FROM name n JOIN technique t ON t.row = n.technique WHERE n.key = ? ORDER BY t.row",
            (name_key(name),),
        )
        return [_id(key) for (key,) in found]

    def ids(self, rows: Iterable[int]) -> dict[int, str]:
        """Technique ids by row."""
        wanted = list(rows)
        known, places = self._ids, self._rows
        missing = [row for row in wanted if row not in known]
        for part in _batches(missing):
            marks = ",".join("?" * len(part))
            for row, key in self._all(f"SELECT row, id FROM technique WHERE row IN ({marks})", part):
                known[row] = _id(key)
                places[known[row]] = row
        if len(known) > CACHED_IDS:
            self._ids, self._rows = {}, {}  # whoever reads the old ones goes on doing so
        return {row: known[row] for row in wanted if row in known}

    def rows(self, ids: Iterable[str]) -> dict[str, int]:
        """Rows of those of these techniques that are here."""
        wanted, known = list(ids), self._rows
        found = {technique: known[technique] for technique in wanted if technique in known}
        for part in _batches([_key(technique) for technique in wanted if technique not in found]):
            marks = ",".join("?" * len(part))
            for key, row in self._all(f"SELECT id, row FROM technique WHERE id IN ({marks})", part):
                found[_id(key)] = row
        return found

    def facts(self, ids: Iterable[str]) -> dict[str, Facts]:
        found: dict[str, Facts] = {}
        for part in _batches([_key(technique) for technique in ids]):
            marks = ",".join("?" * len(part))
            for key, paper, facts in self._all(
                "SELECT t.id, p.id, c.facts "
                "FROM technique t JOIN paper p ON p.number = t.paper LEFT JOIN code c ON c.technique = t.row "
                f"WHERE t.id IN ({marks})",
                part,
            ):
                level, language, packages = _parse_facts(facts or '["none", "", []]')
                found[_id(key)] = Facts(paper=_id(paper), level=level, language=language, packages=packages)
        return found

    def codes(self, rows: Iterable[int]) -> dict[int, bytes]:
        """The codes of the words of those of these rows that have any."""
        found: dict[int, bytes] = {}
        for part in _batches(list(rows)):
            marks = ",".join("?" * len(part))
            found.update(self._all(f"SELECT technique, codes FROM words WHERE technique IN ({marks})", part))
        return found

    def paper_numbers(self, papers: Iterable[str]) -> dict[str, int]:
        """Numbers of those of `papers` that are here."""
        found: dict[str, int] = {}
        for part in _batches([_key(paper) for paper in papers]):
            marks = ",".join("?" * len(part))
            for number, key in self._all(f"SELECT number, id FROM paper WHERE id IN ({marks})", part):
                found[_id(key)] = number
        return found

    def rows_of(self, papers: Iterable[int]) -> list[int]:
        """Rows of the techniques of papers, ascending."""
        found: list[int] = []
        for part in _batches(list(papers)):
            marks = ",".join("?" * len(part))
            found += [row for (row,) in self._all(f"SELECT row FROM technique WHERE paper IN ({marks})", part)]
        return sorted(found)

    def all_rows(self) -> list[int]:
        return [row for (row,) in self._all("SELECT row FROM technique")]

    def row_papers(self, rows: Iterable[int]) -> list[tuple[int, int]]:
        """Those of these rows that are here, each with the number of its paper."""
        found: list[tuple[int, int]] = []
        for part in _batches(list(rows)):
            marks = ",".join("?" * len(part))
            found += self._all(f"SELECT row, paper FROM technique WHERE row IN ({marks})", part)
        return found

    def entries(self, rows: Iterable[int]) -> list[tuple[int, int, Entry]]:
        """Row, number of the paper, and technique with path and code (its `order` is not kept) of these rows."""
        found = []
        for part in _batches(list(rows)):
            marks = ",".join("?" * len(part))
            for row, paper, body, path, code in self._all(
                "SELECT t.row, t.paper, t.body, t.path, c.body FROM technique t "
                f"LEFT JOIN code c ON c.technique = t.row WHERE t.row IN ({marks})",
                part,
            ):
                technique = Technique.model_validate(json.loads(body))
                of = None if code is None else Code.model_validate(json.loads(code))
                found.append((row, paper, Entry(technique, 0, tuple(json.loads(path)), of)))
        return found

    def sharing(self, forms: Iterable[str], *, terse: bool) -> list[tuple[int, int]]:
        """Rows of techniques that go by one of these forms (`xkg.store.concepts.names`), with the numbers of their
        papers."""
        found: set[tuple[int, int]] = set()
        for part in _batches(list(forms)):
            marks = ",".join("?" * len(part))
            found.update(
                self._all(
                    "SELECT t.row, t.paper FROM form f JOIN technique t ON t.row = f.technique "
                    f"WHERE f.form IN ({marks}) AND f.terse = {int(terse)}",
                    part,
                )
            )
        return sorted(found)

    def relinked(self) -> set[tuple[str, str]]:
        """Papers, in the order of their ids, whose links with each other are not the base's."""
        return {(_id(first), _id(second)) for first, second in self._all("SELECT first, second FROM relinked")}

    def paper_ids_of(self, numbers: Iterable[int]) -> list[str]:
        found: list[str] = []
        for part in _batches(list(numbers)):
            marks = ",".join("?" * len(part))
            found += [_id(key) for (key,) in self._all(f"SELECT id FROM paper WHERE number IN ({marks})", part)]
        return found

    def row_links(self) -> list[RowLink]:
        return [RowLink(*values) for values in self._all("SELECT first, second, score, how FROM link")]

    def texts(self) -> list[tuple[bytes, int]]:
        """The hash of each technique's vector text, with its row."""
        return [(bytes(sha256), row) for sha256, row in self._all("SELECT text_sha256, row FROM technique")]

    def technique_ids(self, paper: str) -> list[str]:
        found = self._all(
            "SELECT t.id FROM technique t JOIN paper p ON p.number = t.paper WHERE p.id = ? ORDER BY t.row",
            (_key(paper),),
        )
        return [_id(key) for (key,) in found]

    def paper_ids(self) -> list[str]:
        return [_id(key) for (key,) in self._all("SELECT id FROM paper ORDER BY number")]

    def links(self) -> list[Link]:
        """All links and open pairs, ordered by ids."""
        found = self._all(
            "SELECT a.id, b.id, l.score, l.how FROM link l JOIN technique a ON a.row = l.first "
            "JOIN technique b ON b.row = l.second ORDER BY a.id, b.id"
        )
        return [Link(first=_id(a), second=_id(b), score=score, how=how) for a, b, score, how in found]

    def links_of(self, ids: Iterable[str]) -> list[Link]:
        """The links and open pairs of these techniques, ordered by ids."""
        found = set()
        for part in _batches(list(self.rows(ids).values())):
            marks = ",".join("?" * len(part))
            for end in ("first", "second"):
                found.update(
                    self._all(
                        "SELECT a.id, b.id, l.score, l.how FROM link l JOIN technique a ON a.row = l.first "
                        f"JOIN technique b ON b.row = l.second WHERE l.{end} IN ({marks})",
                        part,
                    )
                )
        return [Link(first=_id(a), second=_id(b), score=score, how=how) for a, b, score, how in sorted(found)]

    def counts(self) -> dict[str, int]:
        return {
            table: int(self._all(f"SELECT count(*) FROM {table}")[0][0]) for table in ("paper", "technique", "code")
        }

    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._turn:
            return self._db.execute(statement, values).fetchall()


def name_key(name: str) -> str:
    """What two names have in common that differ in case, spaces and punctuation only; may be empty."""
    return "".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", name).casefold()))


@functools.lru_cache(4096)
def _parse_facts(facts: str) -> tuple[Level, str, tuple[str, ...]]:
    """Level, language and packages, in which most code is alike."""
    level, language, packages = json.loads(facts)
    return Level(level), language, tuple(packages)


_json = json.JSONEncoder(separators=(",", ":")).encode


def _key(node_id: str) -> bytes:
    return node_id.encode("utf-8", "surrogatepass")


def _id(key: bytes) -> str:
    return key.decode("utf-8", "surrogatepass")


def _batches(values: list[Any]) -> Iterable[list[Any]]:
    return (values[start : start + _BATCH] for start in range(0, len(values), _BATCH))
