"""The graph of a generation: a new LadybugDB, filled once from bundles, then only read.

Rows go through CSV files: the engine's bulk load takes 12 µs a row that way, against 35 µs and 10 KB of memory for
query parameters. `COPY` is only safe into an empty table, so each table is loaded at once.
"""

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from xkg.model import Ablation, Paper, PaperBundle
from xkg.store.cypher.named_queries import embedded_schema
from xkg.store.index_entries import Entry
from xkg.store.rows import EDGES, NODES, Row, Value, ablation_rows, citation_rows, paper_rows, same_concept_row

_LIST_SEPARATOR = "\x1f"
_THREADS = 2
_BUFFER_POOL = 1 << 30
# Loading 300 MB took 1.4 GB, and failed where it could not have them; a pool takes what is used of it.
_MEMORY_FOR_A_BYTE = 8
_LARGEST = 1 << 36
_NUMBERS = {
    "year": "INT64",
    "cost_usd": "DOUBLE",
    "depth": "INT64",
    "weight": "DOUBLE",
    "start_line": "INT64",
    "end_line": "INT64",
    "is_official": "BOOLEAN",
    "score": "DOUBLE",
    "rank": "INT64",
    "doubtful": "BOOLEAN",
    **dict.fromkeys(("baseline", "value", "change", "low", "high"), "DOUBLE"),
    "seeds": "INT64",
}


class GraphWriter:
    """Collects papers as CSV files in `scratch`, which must exist; `load` makes the database from them."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._files: dict[tuple[str, str], IO[str]] = {}
        self._counts: dict[str, int] = {}
        self._shared: set[str] = set()
        self._repositories: dict[Value, Row] = {}
        self._papers: list[Paper] = []

    def add(self, bundle: PaperBundle, entries: Sequence[Entry]) -> None:
        """Adds a paper with its visible techniques and all of its repositories and symbols."""
        self._papers.append(bundle.paper)
        for row in paper_rows(bundle, entries):
            if row.table == "Repository":
                # Of papers with one repository, the one whose official it is says so.
                if row.values[0] not in self._repositories or row.values[-1]:
                    self._repositories[row.values[0]] = row
            elif row.table in ("Symbol", "DEFINES"):
                own = f"{row.table} {row.values[-1] if row.table == 'DEFINES' else row.values[0]}"
                if own not in self._shared:
                    self._shared.add(own)
                    self._row(row)
            else:
                self._row(row)

    def same_concept(self, first: str, second: str, score: float, how: str) -> None:
        """Adds an edge between two techniques, the lower id first."""
        self._row(same_concept_row(first, second, score, how))

    def ablation(self, ablation: Ablation) -> None:
        """Adds a measurement of a technique that was added."""
        for row in ablation_rows(ablation):
            self._row(row)

    def load(self, path: Path) -> dict[str, int]:
        """Makes the database at `path` and gives the rows in each table. Raises the engine's `RuntimeError`."""
        import ladybug

        for row in (*self._repositories.values(), *citation_rows(self._papers)):
            self._row(row)
        for file in self._files.values():
            file.close()
        size = sum(self._path(table, to).stat().st_size for table, to in self._files)
        # One transaction and one checkpoint: each costs a few writes to disk, whatever it holds.
        database = ladybug.Database(
            path,
            auto_checkpoint=False,
            max_num_threads=_THREADS,
            buffer_pool_size=max(_BUFFER_POOL, _MEMORY_FOR_A_BYTE * size),
            max_db_size=_LARGEST,
        )
        with database, ladybug.Connection(database) as connection:
            connection.execute("BEGIN TRANSACTION")
            connection.execute(embedded_schema())
            tables = [*NODES, *EDGES]
            for table, to in sorted(self._files, key=lambda name: tables.index(name[0])):
                connection.execute(self._copy(table, to))
            connection.execute("COMMIT")
            connection.execute("CHECKPOINT")
        return dict(self._counts)

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def _row(self, row: Row) -> None:
        file = (row.table, row.to)
        if file not in self._files:
            self._files[file] = self._path(*file).open("w", encoding="utf-8", newline="", buffering=1 << 18)
        self._files[file].write(",".join(map(_cell, row.values)) + "\n")
        self._counts[row.table] = self._counts.get(row.table, 0) + 1

    def _path(self, table: str, to: str) -> Path:
        return self._scratch / (f"{table}-{to}.csv" if to else f"{table}.csv")

    def _copy(self, table: str, to: str) -> str:
        # The engine takes the name as a pattern.
        name = glob.escape(str(self._path(table, to).absolute())).replace("\\", "\\\\").replace("'", "\\'")
        ends = f", from='{EDGES[table][0]}', to='{to}'" if to else ""
        options = f"(HEADER=false, PARALLEL=false, AUTO_DETECT=false, DELIM=',', QUOTE='\"', ESCAPE='\"'{ends})"
        columns = NODES[table] if table in NODES else f"from to {EDGES[table][2]}"
        if "[]" not in columns:
            return f"COPY {table} FROM '{name}' {options}"
        types, values = [], []
        for i, column in enumerate(columns.split()):
            bare = column.removesuffix("[]")
            types.append(f"c{i} {_NUMBERS.get(bare, 'STRING')}")
            values.append(
                f"CASE WHEN c{i} IS NULL THEN CAST([] AS STRING[]) ELSE string_split(c{i}, '{_LIST_SEPARATOR}') END"
                if column.endswith("[]")
                else f"c{i}"
            )
        load = f"LOAD WITH HEADERS ({', '.join(types)}) FROM '{name}' {options} RETURN {', '.join(values)}"
        return f"COPY {table} FROM ({load})"


def _cell(value: Value) -> str:
    """A CSV cell: unquoted and empty for null. The engine drops empty strings from a list when it splits it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, tuple):
        items = [str(item).replace(_LIST_SEPARATOR, "\ufffd") for item in value if item]
        return _cell(_LIST_SEPARATOR.join(items) if items else None)
    return '"' + value.replace('"', '""') + '"'
