"""Writes a generation's catalogue (`xkg.store.indexes.catalogue`)."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from xkg.attestations.trust import vouchers
from xkg.model import PaperBundle
from xkg.store.bundles import BundleFile
from xkg.store.concepts.linking import Concept, RowLink
from xkg.store.graph_store import PaperLine
from xkg.store.index_entries import Entry
from xkg.store.indexes.catalogue import SCHEMA, id_key, id_of, name_key
from xkg.store.indexes.text import words

_UNLINKED = "(SELECT row FROM unlinked)"
_json = json.JSONEncoder(separators=(",", ":")).encode


class CatalogueWriter:
    """Fills a new catalogue, or changes an existing one that has no readers. `close` finishes the file. `rows` is the
    number of the next row, and `papers` the number of the next paper."""

    def __init__(self, path: Path) -> None:
        schema = "" if path.exists() else SCHEMA
        self._db = sqlite3.connect(path)
        self._db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 4096;" + schema)
        self._count()

    def _count(self) -> None:
        highest = "SELECT coalesce(max({}), -1) + 1 FROM {}"
        self.papers: int = self._db.execute(highest.format("number", "paper")).fetchone()[0]
        self.rows: int = self._db.execute(highest.format("row", "technique")).fetchone()[0]

    def add(self, bundle: PaperBundle, file: BundleFile, entries: Sequence[tuple[Entry, bytes]]) -> list[int]:
        """Adds a paper with its searchable techniques and the hashes of their vector texts. Returns the techniques'
        rows."""
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
        attested = {code.id: own for code in shown if (own := vouchers(code))}
        raised = [(code.level, attested[code.id]) for code in shown if code.id in attested]
        of = bundle.paper
        head = (of.id, of.title, of.authors, of.year, of.origin, of.state, of.built_at, of.cost_usd)
        line = PaperLine(*head, len(visible), Counter(code.level for code in shown), raised, of.subfield)
        self._db.execute("INSERT INTO line VALUES (?, ?)", (paper, _json(line._asdict())))
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
                # Facts are stored outside the body (which spans several pages), because filters read the facts of many
                # nodes.
                facts = _json([code.level, code.language, code.packages, *attested.get(code.id, ())])
                values = (row, id_key(code.id), facts, _json(code.model_dump()))
                self._db.execute("INSERT INTO code VALUES (?, ?, ?, ?)", values)
            names = {name_key(name) for name in (technique.name, *technique.aliases)} - {""}
            self._db.executemany("INSERT INTO name VALUES (?, ?)", [(name, row) for name in sorted(names)])
        written = (bundle.paper.title, *(name for e, _ in entries for name in (e.technique.name, *e.technique.aliases)))
        spelled = {word for word in words(" ".join(written)).split() if word.isalpha()}
        self._db.executemany("INSERT OR IGNORE INTO spelling VALUES (?)", [(word,) for word in sorted(spelled)])
        return list(rows.values())

    def remove(self, papers: Iterable[str]) -> tuple[list[int], list[int]]:
        """Removes papers and all their data. Returns the numbers of the papers and the rows of their techniques."""
        run = self._db.execute
        keys = [(id_key(paper),) for paper in papers]
        numbers = [n for key in keys for (n,) in run("SELECT number FROM paper WHERE id = ?", key)]
        rows = [r for n in numbers for (r,) in run("SELECT row FROM technique WHERE paper = ?", (n,))]
        self.unlink(rows)
        for table in ("code", "words", "name", "form"):
            run(f"DELETE FROM {table} WHERE technique IN {_UNLINKED}")
        run(f"DELETE FROM technique WHERE row IN {_UNLINKED}")
        for table, column in (("line", "paper"), ("paper", "number")):
            self._db.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(n,) for n in numbers])
        self._count()
        return numbers, rows

    def unlink(self, rows: Iterable[int]) -> None:
        """Removes all links that involve these techniques."""
        self._db.execute("CREATE TEMP TABLE IF NOT EXISTS unlinked (row INTEGER PRIMARY KEY)")
        self._db.execute("DELETE FROM unlinked")
        self._db.executemany("INSERT INTO unlinked VALUES (?)", [(row,) for row in rows])
        self._db.execute(f"DELETE FROM link WHERE first IN {_UNLINKED} OR second IN {_UNLINKED}")

    def words(self, codes: Iterable[tuple[int, bytes]]) -> None:
        """Adds techniques' word codes (`xkg.embeddings.base`), keyed by row."""
        self._db.executemany("INSERT INTO words VALUES (?, ?)", codes)

    def name(self, concepts: Iterable[Concept]) -> None:
        """Adds the forms of techniques' names (`xkg.store.concepts.names`)."""
        for concept in concepts:
            named = concept.names
            for terse, forms in enumerate((named.telling, named.terse)):
                self._db.executemany(
                    "INSERT INTO form VALUES (?, ?, ?)", [(f, terse, concept.row) for f in sorted(forms)]
                )

    def link(self, links: Iterable[RowLink]) -> None:
        """Adds pairs of techniques that are, or may be, the same concept."""
        rows = ((edge.first, edge.second, edge.score, edge.how) for edge in links)
        self._db.executemany("INSERT INTO link VALUES (?, ?, ?, ?)", rows)

    def cite(self, edges: Iterable[tuple[str, str]]) -> None:
        """Replaces all citations with these pairs (citing, cited). Works that are not in the graph are skipped."""
        numbers = {id_of(key): number for key, number in self._db.execute("SELECT id, number FROM paper")}
        self._db.execute("DELETE FROM cites")
        pairs = [(numbers[citing], numbers[cited]) for citing, cited in edges if cited in numbers]
        self._db.executemany("INSERT INTO cites VALUES (?, ?)", pairs)

    def close(self) -> None:
        self._db.commit()
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()
