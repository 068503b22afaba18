"""Stores a paper's rows in the graph as CSV. Rows are built once for each state of the paper and reused by all
generations.

Files in `rows/` are derived from files in `bundles/`. A file that is missing, damaged or from a different version of
xkg is rebuilt."""

import functools
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from xkg.model import PaperBundle
from xkg.store.bundles import BundleFile
from xkg.store.index_entries import Entry
from xkg.store.rows import Value, paper_rows

FOLDER = "rows"
LIST_SEPARATOR = "\x1f"
_DECIDING = (
    "model.py",
    "attestations/envelope.py",
    "store/index_entries.py",
    "store/rows.py",
    "store/local/graph_rows.py",
)


@dataclass(frozen=True)
class PaperRows:
    """A paper's rows in the graph. `tables` maps each label or edge type to rows as CSV. Rows that may be shared with
    other papers are stored separately in `repositories` and `shared`. `shared` maps each label or edge type to pairs of
    a symbol's id and a row."""

    tables: dict[str, bytes]
    repositories: tuple[tuple[Value, ...], ...]
    shared: dict[str, list[tuple[str, bytes]]]


def rows_of(bundle: PaperBundle, entries: Sequence[Entry]) -> PaperRows:
    """Returns the rows for a paper, its visible techniques, and all its repositories and symbols."""
    tables: dict[str, list[bytes]] = {}
    repositories: list[tuple[Value, ...]] = []
    shared: dict[str, list[tuple[str, bytes]]] = {}
    for row in paper_rows(bundle, entries):
        if row.table == "Repository":
            repositories.append(row.values)
        elif row.table in ("Symbol", "DEFINES"):
            symbol = str(row.values[0 if row.table == "Symbol" else 1])
            shared.setdefault(row.table, []).append((symbol, csv_row(row.values)))
        else:
            tables.setdefault(row.table, []).append(csv_row(row.values))
    joined = {table: b"".join(rows) for table, rows in tables.items()}
    return PaperRows(joined, tuple(repositories), shared)


def csv_row(values: Iterable[Value]) -> bytes:
    """Formats a CSV row, including the newline."""
    return (",".join(map(_cell, values)) + "\n").encode("utf-8")


def file_name(file: BundleFile) -> str:
    """Returns the name of a bundle file's counterpart in `rows/`."""
    return f"{Path(file.name).stem}.csv"


def write(folder: Path, file: BundleFile, rows: PaperRows) -> None:
    """Stores rows in `folder`, which must exist. If a power failure damages the file, its hash reveals the damage.
    Raises `OSError` if the file cannot be written."""
    head = {
        "made_by": _made_by(),
        "tables": [(table, len(data)) for table, data in rows.tables.items()],
        "repositories": rows.repositories,
        "shared": [(table, [(key, len(data)) for key, data in own]) for table, own in rows.shared.items()],
    }
    pieces = [*rows.tables.values()]
    pieces += [data for own in rows.shared.values() for _, data in own]
    content = b"".join([json.dumps(head).encode("ascii"), b"\n", *pieces])
    path = folder / file_name(file)
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    partial.write_bytes(hashlib.sha256(content).hexdigest().encode("ascii") + b"\n" + content)
    partial.replace(path)


def read(folder: Path, file: BundleFile) -> PaperRows | None:
    """Returns the stored rows for a bundle, or None if there are no usable rows."""
    try:
        data = (folder / file_name(file)).read_bytes()
    except OSError:
        return None
    if hashlib.sha256(memoryview(data)[65:]).hexdigest().encode("ascii") != data[:64]:
        return None
    end = data.index(b"\n", 65)
    head = json.loads(data[65:end])
    if head["made_by"] != _made_by():
        return None
    at = end + 1

    def take(length: int) -> bytes:
        nonlocal at
        at += length
        return data[at - length : at]

    tables = {table: take(length) for table, length in head["tables"]}
    shared = {table: [(key, take(length)) for key, length in own] for table, own in head["shared"]}
    return PaperRows(tables, tuple(map(tuple, head["repositories"])), shared)


@functools.cache
def _made_by() -> str:
    root = Path(__file__).parents[2]
    return hashlib.sha256(b"\0".join((root / place).read_bytes() for place in _DECIDING)).hexdigest()


def _cell(value: Value) -> str:
    """Formats a CSV cell. Null is an empty cell without quotes. Empty strings in lists are omitted, because the engine
    drops them anyway."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, tuple):
        items = [str(item).replace(LIST_SEPARATOR, "\ufffd") for item in value if item]
        return _cell(LIST_SEPARATOR.join(items) if items else None)
    return '"' + value.replace('"', '""') + '"'
