"""Writes the catalogue of a generation (`xkg.store.indexes.catalogue`)."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

from xkg.attestations.trust import RAISED, vouchers
from xkg.model import Code, Level, Paper, PaperBundle
from xkg.store.bundles import BundleFile
from xkg.store.concepts.citations import PaperIndex, cited_papers
from xkg.store.concepts.linking import Concept, RowLink
from xkg.store.index_entries import Entry
from xkg.store.indexes.catalogue import id_key, id_of, name_key
from xkg.store.indexes.text import words

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
CREATE INDEX technique_ids ON technique (row, id);
CREATE INDEX technique_parent ON technique (parent);
CREATE INDEX technique_paper ON technique (paper);
CREATE TABLE code (technique INTEGER PRIMARY KEY, id BLOB UNIQUE, facts TEXT, body TEXT);
CREATE TABLE words (technique INTEGER PRIMARY KEY, codes BLOB);
CREATE TABLE name (key TEXT, technique INTEGER, PRIMARY KEY (key, technique)) WITHOUT ROWID;
CREATE TABLE spelling (word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE form (form TEXT, terse INTEGER, technique INTEGER, PRIMARY KEY (form, terse, technique)) WITHOUT ROWID;
CREATE TABLE relinked (first BLOB, second BLOB, PRIMARY KEY (first, second)) WITHOUT ROWID;
CREATE TABLE link (first INTEGER, second INTEGER, score REAL, how TEXT, PRIMARY KEY (first, second)) WITHOUT ROWID;
CREATE INDEX link_second ON link (second);
"""
_LINES = "CREATE TABLE IF NOT EXISTS line (paper INTEGER PRIMARY KEY, line TEXT);"
"""The list line of each paper, stored apart from the bodies, which take gigabytes; older catalogues have none."""

_json = json.JSONEncoder(separators=(",", ":")).encode


def _attested(code: Code) -> tuple[tuple[str, Level], ...]:
    """The vouchers of code that an attestation can raise."""
    return vouchers(code) if code.level in RAISED and code.attestations else ()


class CatalogueWriter:
    """Fills a new catalogue, or one without readers yet; `close` leaves a finished file. Rows and papers are numbered
    from `rows` and `papers`, which hold the next free numbers afterwards."""

    def __init__(self, path: Path, *, rows: int = 0, papers: int = 0) -> None:
        schema = "" if path.exists() else _SCHEMA
        self._db = sqlite3.connect(path)
        pragmas = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 4096;"
        self._db.executescript(pragmas + schema + _LINES)
        self.papers = papers
        self.rows = rows

    def add(self, bundle: PaperBundle, file: BundleFile, entries: Sequence[tuple[Entry, bytes]]) -> list[int]:
        """Adds a paper with its searchable techniques and the hashes of their vector texts. Returns their rows."""
        paper = self.papers
        self.papers += 1
        self._db.execute(
            "INSERT INTO paper VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                paper,
                id_key(bundle.paper.id),
                _json(bundle.paper.title),
                file.name,
                name_key(bundle.paper.title),
                bundle.paper.year,
                _json(bundle.paper.model_dump()),
            ),
        )
        visible = [entry for entry, _ in entries if entry.technique.hidden is None]
        shown = [entry.code for entry in visible if entry.code is not None]
        attested = {code.id: own for code in shown if (own := _attested(code))}
        raised = [(code.level, attested[code.id]) for code in shown if code.id in attested]
        of = bundle.paper
        head = (of.id, of.title, of.authors, of.year, of.origin, of.state, of.built_at, of.cost_usd)
        line = (*head, len(visible), Counter(code.level for code in shown), raised, of.subfield)
        self._db.execute("INSERT INTO line VALUES (?, ?)", (paper, _json(line)))
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
                (row, id_key(technique.id), paper, parent, _json(entry.path), text_sha256, body),
            )
            if entry.code is not None:
                code = entry.code
                # Stored apart from the body, which spans pages: filters read the facts of many techniques.
                facts = _json([code.level, code.language, code.packages, *attested.get(code.id, ())])
                values = (row, id_key(code.id), facts, _json(code.model_dump()))
                self._db.execute("INSERT INTO code VALUES (?, ?, ?, ?)", values)
            names = {name_key(name) for name in (technique.name, *technique.aliases)} - {""}
            self._db.executemany("INSERT INTO name VALUES (?, ?)", [(name, row) for name in sorted(names)])
        written = (bundle.paper.title, *(name for e, _ in entries for name in (e.technique.name, *e.technique.aliases)))
        spelled = {word for word in words(" ".join(written)).split() if word.isalpha()}
        self._db.executemany("INSERT OR IGNORE INTO spelling VALUES (?)", [(word,) for word in sorted(spelled)])
        return list(rows.values())

    def remove(self, papers: Iterable[int]) -> None:
        """Removes papers and all their data except links."""
        for paper in papers:
            own = "(SELECT row FROM technique WHERE paper = ?)"
            for table in ("code", "words", "name", "form"):
                self._db.execute(f"DELETE FROM {table} WHERE technique IN {own}", (paper,))
            self._db.execute("DELETE FROM technique WHERE paper = ?", (paper,))
            self._db.execute("DELETE FROM line WHERE paper = ?", (paper,))
            self._db.execute("DELETE FROM paper WHERE number = ?", (paper,))

    def words(self, codes: Iterable[tuple[int, bytes]]) -> None:
        """Adds the word codes (`xkg.embeddings.base`) of techniques, by row."""
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
        rows = ((edge.first, edge.second, edge.score, edge.how) for edge in links)
        self._db.executemany("INSERT INTO link VALUES (?, ?, ?, ?)", rows)

    def relink(self, links: Iterable[RowLink], papers: Iterable[tuple[str, str]]) -> None:
        """Replaces all links by `links`; the base's links between these pairs of `papers` no longer count."""
        self._db.execute("DELETE FROM link")
        self.link(links)
        pairs = [(id_key(first), id_key(second)) for first, second in papers]
        self._db.executemany("INSERT OR IGNORE INTO relinked VALUES (?, ?)", pairs)

    def cite(self) -> None:
        """Adds the citations between the papers."""
        numbers = {id_of(key): number for key, number in self._db.execute("SELECT id, number FROM paper")}
        index = PaperIndex(self._papers("json_remove(body, '$.references', '$.abstract', '$.claims', '$.code_files')"))
        for paper in self._papers("body"):
            pairs = [(numbers[paper.id], numbers[other]) for other in cited_papers(paper, index)]
            self._db.executemany("INSERT INTO cites VALUES (?, ?)", pairs)

    def cite_pairs(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Replaces all citations by these pairs of numbers (citing, cited)."""
        self._db.execute("DELETE FROM cites")
        self._db.executemany("INSERT INTO cites VALUES (?, ?)", pairs)

    def _papers(self, body: str) -> Iterator[Paper]:
        for (found,) in self._db.execute(f"SELECT {body} FROM paper ORDER BY id"):
            yield Paper.model_validate(json.loads(found))

    def close(self) -> None:
        self._db.commit()
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()
