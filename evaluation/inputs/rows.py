"""Reads rows written by people or models, as JSON lines. Malformed rows are reported and never crash a measurement."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from xkg.errors import InputError
from xkg.files import read_regular
from xkg.store.graph_store import Snapshot
from xkg.value import Value

LARGEST = 64 * 1024 * 1024

V = TypeVar("V", bound=Value)


def read_rows(path: Path, kind: type[V]) -> tuple[list[V], list[str]]:
    """Returns the valid rows in a file, and a one-line message for each invalid one. Raises `InputError` if the file
    cannot be read."""
    rows: list[V] = []
    problems: list[str] = []
    for number, line in enumerate(_read(path).splitlines(), start=1):
        try:
            rows += [kind.model_validate_json(line)] if line.strip() else []
        except ValidationError as error:
            problems.append(f"{path}: line {number}: {first_error(error)}")
    return rows, problems


def first_error(error: ValidationError) -> str:
    """Returns the location and message of the first error, on one line."""
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    message = " ".join(first["msg"].split())[:200]
    return f"{where}: {message}" if where else message


def read_json(path: Path) -> Any:
    """Returns the value in a JSON file. Raises `InputError`, naming the file, if it cannot be read or is not JSON."""
    try:
        return json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({str(error)[:120]}); correct it") from error


def read_queries(path: Path) -> list[dict[str, Any]]:
    """Returns the search queries in a file of JSON lines, each with `id`, `kind`, `query` and `gold`. Raises
    `InputError`."""
    try:
        rows = [json.loads(line) for line in _read(path).splitlines() if line.strip()]
    except ValueError as error:
        raise InputError(f"{path}: not JSON lines ({error}); correct it") from error
    for number, row in enumerate(rows, start=1):
        if missing := [key for key in ("id", "kind", "query", "gold") if not isinstance(row, dict) or key not in row]:
            raise InputError(f"{path}: query {number} has no {missing[0]}; each needs id, kind, query and gold")
    if not rows:
        raise InputError(f"{path}: contains no query; pass a file of JSON lines")
    return rows


def require_techniques(snapshot: Snapshot, path: Path, techniques: Iterable[str]) -> None:
    """Raises `InputError` if the graph lacks one of the gold file's techniques, because measurements would count it as
    not found."""
    wanted = set(techniques)
    papers = {technique.partition("#")[0] for technique in wanted} & set(snapshot.paper_ids())
    known = {id for paper in papers for id in snapshot.technique_ids(paper)}
    if missing := sorted(wanted - known):
        raise InputError(
            f"{path}: {len(missing)} of {len(wanted)} gold techniques are not in this graph, such as {missing[0]}; "
            "pass the graph for which the gold file was made (--kg)"
        )


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, LARGEST)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); correct its path") from error
