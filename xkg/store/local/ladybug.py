"""Builds a generation's graph, a new LadybugDB that is filled once with the rows for all papers and is then read-only.

Rows are loaded from CSV files. The engine's bulk load takes 12 µs per row. Inserting rows with query parameters takes
35 µs and 10 KB of memory per row. `COPY` is only safe for empty tables, so each table is loaded in a single step. A
finished database is never changed. Adding a paper with 20 techniques to a copy of 80 MB took a second and added 42 MB
each time. The engine never reuses the added space. In addition, changing a database in place may damage files or crash
the process (LadybugDB issues 843, 924, 948)."""

import errno
import glob
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from xkg.model import Ablation
from xkg.store.concepts.citations import Citations
from xkg.store.cypher.named_queries import embedded_schema
from xkg.store.local.graph_rows import LIST_SEPARATOR, PaperRows, csv_row
from xkg.store.rows import EDGES, NODES, Row, Value, ablation_rows, citation_rows, same_concept_row

_THREADS = 2
_BUFFER_POOL = 1 << 30
# Loading 300 MB of rows required 1.4 GB of memory. The pool only allocates memory that is used.
_MEMORY_FOR_A_BYTE = 8
_LARGEST = 1 << 36
# During loading, the database and its log took up 1.6 MB for 12 KB of rows, and 20 MB for 5.6 MB of rows.
_DISK_AT_LEAST, _DISK_FOR_A_BYTE = 2_000_000, 4
_NUMBERS = {
    "year": "INT64",
    "cost_usd": "DOUBLE",
    "depth": "INT64",
    "weight": "DOUBLE",
    "start_line": "INT64",
    "end_line": "INT64",
    "stars": "INT64",
    "archived": "BOOLEAN",
    "is_official": "BOOLEAN",
    "score": "DOUBLE",
    "rank": "INT64",
    "doubtful": "BOOLEAN",
    **dict.fromkeys(("baseline", "value", "change", "low", "high"), "DOUBLE"),
    "seeds": "INT64",
}


class GraphWriter:
    """Collects papers as CSV files in `scratch`, which must exist. `load` builds the database from these files."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._files: dict[tuple[str, str], IO[bytes]] = {}
        self._symbols: dict[str, set[str]] = {}
        self._repositories: dict[Value, Row] = {}

    def add_rows(self, rows: PaperRows) -> None:
        for table, data in rows.tables.items():
            self._write(table, "", data)
        for table, own in rows.shared.items():
            known = self._symbols.setdefault(table, set())
            new = [data for symbol, data in own if symbol not in known]
            known.update(symbol for symbol, _ in own)
            self._write(table, "", b"".join(new))
        for values in rows.repositories:
            # If papers share a repository, `is_official` is set if it is official for any of them.
            if values[0] not in self._repositories or values[-1]:
                self._repositories[values[0]] = Row("Repository", values)

    def cite(self, citations: Citations) -> None:
        """Adds citations, and cited works that are not in the graph."""
        self._add(citation_rows(*citations))

    def same_concept(self, first: str, second: str, score: float, how: str) -> None:
        """Adds an edge between two techniques. The lower id must come first."""
        self._add([same_concept_row(first, second, score, how)])

    def ablation(self, ablation: Ablation) -> None:
        """Adds a measurement for a technique that has already been added."""
        self._add(ablation_rows(ablation))

    def load(self, path: Path) -> None:
        """Builds the database at `path`. Raises `RuntimeError` if the engine fails, and `OSError` if the disk is too
        full."""
        import ladybug

        self._add(self._repositories.values())
        for file in self._files.values():
            file.close()
        size = sum(self._path(table, to).stat().st_size for table, to in self._files)
        # The engine kills the whole process if it cannot write its log.
        if shutil.disk_usage(path.parent).free < _DISK_AT_LEAST + _DISK_FOR_A_BYTE * size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        # Use one transaction and one checkpoint, because each of these costs a few disk writes, regardless of size.
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

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def _add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._write(row.table, row.to, csv_row(row.values))

    def _write(self, table: str, to: str, data: bytes) -> None:
        if not data:
            return
        file = (table, to)
        if file not in self._files:
            self._files[file] = self._path(*file).open("wb", buffering=1 << 18)
        self._files[file].write(data)

    def _path(self, table: str, to: str) -> Path:
        return self._scratch / (f"{table}-{to}.csv" if to else f"{table}.csv")

    def _copy(self, table: str, to: str) -> str:
        # The engine treats the file name as a pattern.
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
                f"CASE WHEN c{i} IS NULL THEN CAST([] AS STRING[]) ELSE string_split(c{i}, '{LIST_SEPARATOR}') END"
                if column.endswith("[]")
                else f"c{i}"
            )
        load = f"LOAD WITH HEADERS ({', '.join(types)}) FROM '{name}' {options} RETURN {', '.join(values)}"
        return f"COPY {table} FROM ({load})"
