"""Reads a generation's catalogue, a read-only SQLite file of nodes that are ready to serve, keyed by id.

The catalogue reads nodes by key, whereas LadybugDB would need a Cypher query for each lookup. Ids are stored as
bytes and bodies as ASCII JSON, so that all strings are preserved. A technique's `row` is also its number in the vector
and text indexes."""

import functools
import itertools
import json
import re
import sqlite3
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from xkg.model import Code, Level, Paper, Technique
from xkg.store.graph_store import MOST_TITLES, Facts, Heading, Link, PaperLine, TechniqueView
from xkg.store.index_entries import Entry

_BATCH = 500
_WORD = re.compile(r"[^\W_]+")
_AFTER_ANY = "\U0010ffff"
_SCANNED = 1000

CACHED_VIEWS = 2048
CACHED_IDS = 100_000
CACHED_CODES = 4096
"""Cache sizes. Each full cache takes about 20 MB."""
SCHEMA = """
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
CREATE INDEX technique_text ON technique (text_sha256);
CREATE TABLE code (technique INTEGER PRIMARY KEY, id BLOB UNIQUE, facts TEXT, body TEXT);
CREATE TABLE words (technique INTEGER PRIMARY KEY, codes BLOB);
CREATE TABLE name (key TEXT, technique INTEGER, PRIMARY KEY (key, technique)) WITHOUT ROWID;
CREATE TABLE spelling (word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE form (form TEXT, terse INTEGER, technique INTEGER, PRIMARY KEY (form, terse, technique)) WITHOUT ROWID;
CREATE TABLE link (first INTEGER, second INTEGER, score REAL, how TEXT, PRIMARY KEY (first, second)) WITHOUT ROWID;
CREATE INDEX link_second ON link (second);
CREATE TABLE line (paper INTEGER PRIMARY KEY, line TEXT);
"""
_LINKS = (
    "SELECT a.id, b.id, l.score, l.how FROM link l "
    "JOIN technique a ON a.row = l.first JOIN technique b ON b.row = l.second"
)
_CHILDREN = (
    "WITH RECURSIVE below (child, row) AS (SELECT row, row FROM technique WHERE parent = ? "
    "UNION ALL SELECT below.child, t.row FROM below JOIN technique t ON t.parent = below.row) "
    "SELECT t.body, count(c.technique) FROM below JOIN technique t ON t.row = below.child "
    "LEFT JOIN code c ON c.technique = below.row GROUP BY below.child ORDER BY below.child"
)
"""Selects each component, and counts the code nodes for the component and everything below it."""
_IDS = "SELECT row, id FROM technique INDEXED BY technique_ids WHERE row IN ({})"
"""Selects ids by row. Without this index, SQLite would read the ids from the table itself, which contains gigabytes of
bodies."""
_LAST_YEAR = 1_000_000  # SQLite's integers have a limited size


class Catalogue:
    """Reads a finished catalogue, or an empty one if `path` is None. Methods return None for unknown ids, or omit
    unknown ids. Thread-safe."""

    def __init__(self, path: Path | None) -> None:
        # "immutable" makes SQLite read without locks or journals, even in a read-only folder.
        self._address = f"{path.absolute().as_uri()}?mode=ro&immutable=1" if path else "file::memory:"
        self._db = sqlite3.connect(self._address, uri=True, check_same_thread=False)
        if path is None:
            self._db.executescript(SCHEMA)
        self._turn = threading.Lock()
        # Cached values remain valid, because a finished catalogue never changes.
        self._views = functools.lru_cache(CACHED_VIEWS)(self._view)
        self._ids: dict[int, str] = {}
        self._rows: dict[str, int] = {}
        self._codes: dict[int, bytes] = {}
        self._count: int | None = None

    def close(self) -> None:
        self._views.cache_clear()
        with self._turn:
            self._db.close()

    def papers(self) -> list[Paper]:
        return [Paper.model_validate(json.loads(body)) for (body,) in self._all("SELECT body FROM paper ORDER BY id")]

    def paper_lines(self) -> list[PaperLine]:
        if not self.paper_count():
            return []
        # Use a separate connection, so that lookups do not have to wait while all papers are read.
        with closing(sqlite3.connect(self._address, uri=True)) as db:
            lines = [_line(line) for (line,) in db.execute("SELECT line FROM line")]
        return sorted(lines, key=lambda line: line.id)

    def paper_count(self) -> int:
        if self._count is None:
            self._count = int(self._all("SELECT count(*) FROM paper")[0][0])
        return self._count

    def called(self, words: str, most: int = MOST_TITLES) -> list[str]:
        if self.paper_file(words) is not None:
            return [words]
        key = name_key(words)
        if not key:
            return []
        if found := self._all("SELECT id FROM paper WHERE key = ? ORDER BY id LIMIT ?", (key, most)):
            return [id_of(paper) for (paper,) in found]
        # Rows are read in the order of the index, because an order by id would require sorting all titles with this
        # prefix.
        statement = "SELECT id, title FROM paper WHERE key >= ? AND key < ? ORDER BY key LIMIT ?"
        with self._turn:
            rows = self._db.execute(statement, (key, key + _AFTER_ANY, max(most, MOST_TITLES)))
            longer = list(itertools.islice((row for row in rows if begins_with(json.loads(row[1]), key)), most))
        return [id_of(paper) for paper, _ in sorted(longer)]

    def headings(self, ids: Iterable[str]) -> dict[str, Heading]:
        wanted = list(ids)
        if len(wanted) > _SCANNED:  # one pass over the table is faster than many lookups
            rows = self._all("SELECT id, title, year FROM paper")
        else:
            rows = self._among("SELECT id, title, year FROM paper WHERE id IN ({})", map(id_key, wanted))
        known = {id_of(key): Heading(json.loads(title), year) for key, title, year in rows}
        return {paper: known[paper] for paper in wanted if paper in known}

    def of_years(self, first: int | None, last: int | None) -> list[str]:
        """Returns the ids of papers published from year `first` to `last`, in order."""
        first, last = (year if year is None else max(-_LAST_YEAR, min(year, _LAST_YEAR)) for year in (first, last))
        within = "year >= coalesce(?, year) AND year <= coalesce(?, year)"
        rows = self._all(f"SELECT id FROM paper WHERE {within} ORDER BY id", (first, last))
        return [id_of(key) for (key,) in rows]

    def citations_of(self, paper: str) -> tuple[set[str], set[str]]:
        """Returns the ids of papers cited by a paper, and the ids of papers that cite it."""
        cited, citing = (
            self._all(
                f"SELECT o.id FROM cites JOIN paper p ON p.number = {own} JOIN paper o ON o.number = {other} "
                "WHERE p.id = ?",
                (id_key(paper),),
            )
            for own, other in (("citing", "cited"), ("cited", "citing"))
        )
        return {id_of(key) for (key,) in cited}, {id_of(key) for (key,) in citing}

    def paper_file(self, paper: str) -> str | None:
        """Returns the name of a paper's bundle file, or None if the paper is unknown."""
        found = self._all("SELECT file FROM paper WHERE id = ?", (id_key(paper),))
        return str(found[0][0]) if found else None

    def technique(self, technique: str) -> TechniqueView | None:
        return self._views(technique)

    def _view(self, technique_id: str) -> TechniqueView | None:
        found = self._all(
            "SELECT t.row, t.body, t.path, p.title, c.body FROM technique t JOIN paper p ON p.number = t.paper "
            "LEFT JOIN code c ON c.technique = t.row WHERE t.id = ?",
            (id_key(technique_id),),
        )
        if not found:
            return None
        row, body, path, title, code = found[0]
        children = [(_technique(child), bool(has_code)) for child, has_code in self._all(_CHILDREN, (row,))]
        technique = _technique(body)
        return TechniqueView(
            technique=technique,
            paper_title=json.loads(title),
            path=tuple(json.loads(path)),
            children=tuple(child for child, _ in children if child.hidden is None or technique.hidden is not None),
            code=None if code is None else _code(code),
            without_code=tuple(child.name for child, has_code in children if not has_code),
        )

    def code(self, code: str) -> Code | None:
        found = self._all("SELECT body FROM code WHERE id = ?", (id_key(code),))
        return _code(found[0][0]) if found else None

    def named(self, name: str) -> list[str]:
        found = self._all(
            "SELECT t.id FROM name n JOIN technique t ON t.row = n.technique JOIN paper p ON p.number = t.paper "
            "WHERE n.key = ? ORDER BY p.id, t.row",
            (name_key(name),),
        )
        return [id_of(key) for (key,) in found]

    def spellings(self, word: str) -> list[str]:
        """Returns words from names and titles that have the same first letter as `word` and about the same length, in
        order."""
        return [
            other
            for (other,) in self._all(
                "SELECT word FROM spelling WHERE word >= ? AND word < ? AND length(word) BETWEEN ? AND ?",
                (word[:1], word[:1] + _AFTER_ANY, len(word) - 2, len(word) + 2),
            )
        ]

    def ids(self, rows: Iterable[int]) -> dict[int, str]:
        """Returns the technique ids for these rows."""
        wanted = list(rows)
        known, places = self._ids, self._rows
        missing = [row for row in wanted if row not in known]
        for row, key in self._among(_IDS, missing) if missing else ():
            known[row] = id_of(key)
            places[known[row]] = row
        if len(known) > CACHED_IDS:
            self._ids, self._rows = {}, {}  # concurrent readers keep using the old values
        return {row: known[row] for row in wanted if row in known}

    def rows(self, ids: Iterable[str]) -> dict[str, int]:
        """Returns the rows of these techniques. Unknown ids are omitted."""
        wanted, known = list(ids), self._rows
        cached = {technique: known[technique] for technique in wanted if technique in known}
        missing = [id_key(technique) for technique in wanted if technique not in cached]
        read = self._among("SELECT id, row FROM technique WHERE id IN ({})", missing)
        return cached | {id_of(key): row for key, row in read}

    def facts(self, ids: Iterable[str]) -> dict[str, Facts]:
        rows = self._among(
            "SELECT t.id, p.id, c.facts "
            "FROM technique t JOIN paper p ON p.number = t.paper LEFT JOIN code c ON c.technique = t.row "
            "WHERE t.id IN ({})",
            map(id_key, ids),
        )
        result: dict[str, Facts] = {}
        for key, paper, facts in rows:
            level, language, packages, vouchers = _parse_facts(facts or '["none", "", []]')
            result[id_of(key)] = Facts(
                paper=id_of(paper), level=level, language=language, packages=packages, vouchers=vouchers
            )
        return result

    def codes(self, rows: Iterable[int]) -> dict[int, bytes]:
        """Returns the word codes for these rows. Rows without word codes are omitted."""
        wanted, known = list(rows), self._codes
        missing = [row for row in wanted if row not in known]
        if missing:
            read = dict(self._among("SELECT technique, codes FROM words WHERE technique IN ({})", missing))
            known.update((row, read.get(row, b"")) for row in missing)
            if len(known) > CACHED_CODES:
                self._codes = {}  # concurrent readers keep using the old values
        return {row: known[row] for row in wanted if known[row]}

    def paper_numbers(self, papers: Iterable[str]) -> dict[str, int]:
        """Returns the numbers of these papers. Unknown ids are omitted."""
        rows = self._among("SELECT number, id FROM paper WHERE id IN ({})", map(id_key, papers))
        return {id_of(key): number for number, key in rows}

    def rows_of(self, papers: Iterable[int]) -> list[int]:
        """Returns the rows of all techniques in these papers, in order."""
        return sorted(row for (row,) in self._among("SELECT row FROM technique WHERE paper IN ({})", papers))

    def row_papers(self) -> list[tuple[int, int]]:
        """Returns all rows and the number of each row's paper."""
        return self._all("SELECT row, paper FROM technique INDEXED BY technique_paper")

    def entries(self, rows: Iterable[int]) -> list[tuple[int, int, Entry]]:
        """Returns the row, paper number, and entry for each of these rows. `order` is always 0."""
        result = []
        for row, paper, technique, path, code in self._among(
            "SELECT t.row, t.paper, t.body, t.path, c.body FROM technique t "
            "LEFT JOIN code c ON c.technique = t.row WHERE t.row IN ({})",
            sorted(rows),
        ):
            entry = Entry(_technique(technique), 0, tuple(json.loads(path)), None if code is None else _code(code))
            result.append((row, paper, entry))
        return result

    def sharing(self, forms: Iterable[str], *, terse: bool) -> list[tuple[int, int]]:
        """Returns the rows and paper numbers of techniques with any of these forms of a name
        (`xkg.store.concepts.names`)."""
        rows = self._among(
            "SELECT t.row, t.paper FROM form f JOIN technique t ON t.row = f.technique "
            f"WHERE f.form IN ({{}}) AND f.terse = {int(terse)}",
            forms,
        )
        return sorted(set(rows))

    def rows_of_texts(self, hashes: Iterable[bytes]) -> dict[bytes, int]:
        """Maps each hash of a technique's vector text to a row with that text. Unknown hashes are omitted."""
        found = self._among("SELECT text_sha256, row FROM technique WHERE text_sha256 IN ({})", hashes)
        return {bytes(sha256): row for sha256, row in found}

    def technique_ids(self, paper: str) -> list[str]:
        found = self._all(
            "SELECT t.id FROM technique t JOIN paper p ON p.number = t.paper WHERE p.id = ? ORDER BY t.row",
            (id_key(paper),),
        )
        return [id_of(key) for (key,) in found]

    def paper_ids(self) -> list[str]:
        return [id_of(key) for (key,) in self._all("SELECT id FROM paper ORDER BY id")]

    def links(self) -> list[Link]:
        """Returns all links and undecided pairs, ordered by their ids."""
        return _links(self._all(f"{_LINKS} ORDER BY a.id, b.id"))

    def links_of(self, ids: Iterable[str]) -> list[Link]:
        """Returns the links and undecided pairs for these techniques, ordered by their ids."""
        rows = list(self.rows(ids).values())
        ends = [self._among(f"{_LINKS} WHERE l.{end} IN ({{}})", rows) for end in ("first", "second")]
        return _links(sorted({*ends[0], *ends[1]}))

    def _among(self, statement: str, values: Iterable[Any]) -> list[Any]:
        """Runs a statement with `IN ({})` for these values, in batches, and returns the rows."""
        wanted, rows = list(values), list[Any]()
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            rows += self._all(statement.format(",".join("?" * len(batch))), batch)
        return rows

    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._turn:
            return self._db.execute(statement, values).fetchall()


def begins_with(title: str, key: str) -> bool:
    """Returns whether the title starts with one or more whole words whose `name_key` is `key`."""
    words = itertools.accumulate(_WORD.findall(unicodedata.normalize("NFKC", title).casefold()))
    return any(start == key for start in words)


def name_key(name: str) -> str:
    """Returns a key that is the same for names that differ only in case, spaces and punctuation. The key may be
    empty."""
    return "".join(_WORD.findall(unicodedata.normalize("NFKC", name).casefold()))


@functools.lru_cache(4096)
def _parse_facts(facts: str) -> tuple[Level, str, tuple[str, ...], tuple[tuple[str, Level], ...]]:
    """Parses the level, language, packages and vouchers. The result is cached, because many code nodes have the same
    facts."""
    level, language, packages, *vouchers = json.loads(facts)
    return Level(level), language, tuple(packages), _vouchers(vouchers)


def _vouchers(listed: Sequence[Sequence[str]]) -> tuple[tuple[str, Level], ...]:
    return tuple((key, Level(level)) for key, level in listed)


def id_key(node_id: str) -> bytes:
    return node_id.encode("utf-8", "surrogatepass")


def id_of(key: bytes) -> str:
    return key.decode("utf-8", "surrogatepass")


def _technique(body: str) -> Technique:
    return Technique.model_validate(json.loads(body))


def _code(body: str) -> Code:
    return Code.model_validate(json.loads(body))


def _links(rows: Iterable[Any]) -> list[Link]:
    return [Link(first=id_of(a), second=id_of(b), score=score, how=how) for a, b, score, how in rows]


def _line(line: str) -> PaperLine:
    fields = json.loads(line)
    levels = {Level(level): count for level, count in fields["levels"].items()}
    attested = tuple((Level(level), _vouchers(listed)) for level, listed in fields["attested"])
    return PaperLine(**{**fields, "authors": tuple(fields["authors"]), "levels": levels, "attested": attested})
