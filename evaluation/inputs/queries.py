"""Labelled queries for search."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from xkg.errors import InputError
from xkg.files import read_regular
from xkg.store.graph_store import Snapshot

_LARGEST = 64 * 1024 * 1024


def read_queries(path: Path) -> list[dict[str, Any]]:
    """The queries of a file of JSON lines, each with `id`, `kind`, `query` and `gold`. Raises `InputError`."""
    try:
        rows = [json.loads(line) for line in read_regular(path, _LARGEST).splitlines() if line.strip()]
    except ValueError as error:
        raise InputError(f"{path}: not JSON lines ({error}); correct it") from error
    for number, row in enumerate(rows, start=1):
        if missing := [key for key in ("id", "kind", "query", "gold") if not isinstance(row, dict) or key not in row]:
            raise InputError(f"{path}: query {number} has no {missing[0]}; each needs id, kind, query and gold")
    if not rows:
        raise InputError(f"{path}: holds no query; give a file of JSON lines")
    return rows


def require_techniques(snapshot: Snapshot, path: Path, techniques: Iterable[str]) -> None:
    """Raises `InputError` if the graph lacks a technique of the gold file: each one would count as lost."""
    wanted = set(techniques)
    papers = {technique.partition("#")[0] for technique in wanted} & set(snapshot.paper_ids())
    known = {id for paper in papers for id in snapshot.technique_ids(paper)}
    if missing := sorted(wanted - known):
        raise InputError(
            f"{path}: {len(missing)} of {len(wanted)} gold techniques are not in this graph, such as {missing[0]}; "
            "give the graph that the gold was made for (--kg)"
        )
