"""A bundle beside the graph: what its nodes do not say, so that bundle → Neo4j → bundle is equal.

A value that a node holds as it is, is left out here and read back from the node; one that no engine can hold (half a
surrogate pair, NUL) is kept here, and counts as long as the node still holds what was put in its place. Hidden
techniques, orders of lists, and symbols and repositories, which papers share, are kept whole.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from xkg.errors import CorruptStoreError
from xkg.model import PaperBundle
from xkg.store.index_entries import encodable
from xkg.store.rows import NODES, key, nested, texts

_JSON = {("Paper", "references"), ("Technique", "excerpts"), ("Code", "evidence"), ("Code", "claims")}
_LISTS = {"Technique": "techniques", "Code": "code", "Finding": "findings", "Resource": "resources"}
_COLUMNS = {
    label: [(column.removesuffix("[]"), column.endswith("[]")) for column in columns.split()[1:]]
    for label, columns in NODES.items()
}

Properties = Mapping[str, Any]


class Parts(NamedTuple):
    """What a graph holds of papers: properties of nodes by label and key; of edges by type and both keys."""

    nodes: dict[str, dict[str, dict[str, Any]]]
    edges: dict[str, dict[tuple[str, str], list[dict[str, Any]]]]


class Rest:
    """What is beside the graph of one paper, at the commit `generation`. `keys` are those of its own nodes there."""

    def __init__(self, said: dict[str, Any]) -> None:
        self._said = said
        self.generation = int(said["generation"])
        self.paper: str = said["paper"]["id"]
        self.keys = {
            label: [key(one["id"]) for one in said[name] if "whole" not in one] for label, name in _LISTS.items()
        }
        self.keys["Paper"] = [key(self.paper)]
        self.repositories = {key(one["id"]): one for one in said["repositories"]}
        self.symbols = {key(one["id"]): key(one["repository"]) for one in said["symbols"]}

    def bundle(self, found: Parts) -> PaperBundle:
        """The bundle with what the graph says now. What was deleted there is gone, with what hangs on it. Raises
        `CorruptStoreError` for what no bundle can hold."""
        try:
            said = {name: value for name, value in self._said.items() if name != "generation"}
            said["paper"] = _merged("Paper", said["paper"], found.nodes["Paper"].get(key(self.paper), {}))
            for label, name in _LISTS.items():
                there = found.nodes.get(label, {})
                said[name] = [
                    one["whole"] if "whole" in one else _merged(label, one, there[key(one["id"])])
                    for one in said[name]
                    if "whole" in one or key(one["id"]) in there
                ]
            _leave_out(said, found)
            return PaperBundle.model_validate(said)
        except (ValidationError, ValueError, TypeError, RecursionError) as error:
            if isinstance(error, ValidationError):
                first = error.errors()[0]
                line = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            else:
                line = str(error)
            raise CorruptStoreError(
                f"paper {self.paper!a} was changed in the graph to what it cannot be ({line[:160]}): mend it there, or "
                "build or import it again"
            ) from error


def _leave_out(said: dict[str, Any], found: Parts) -> None:
    """Takes out what hangs on a node that is gone, and sets places as the graph has them."""
    above: set[str | None] = {None}
    kept = []
    for one in said["techniques"]:
        if one["parent"] in above:
            above.add(one["id"])
            kept.append(one)
    shown = {one["id"] for one in kept if one["hidden"] is None}
    said["techniques"] = kept
    said["code"] = [one for one in said["code"] if one["technique"] in above]
    code = {one["id"]: one["technique"] in shown for one in said["code"]}
    drawn = found.edges.get("LOCATED_AT", {})
    places = []
    for one in said["locations"]:
        if one["technique"] not in shown:
            places += [one] if one["technique"] in above else []
            continue
        edges = drawn.get((key(one["technique"]), key(one["symbol"])), [])
        if edges:
            places.append({**one, **edges[0]} if len(edges) == 1 else one)
    said["locations"] = places
    drawn = found.edges.get("DERIVED_FROM", {})
    said["derivations"] = [
        one
        for one in said["derivations"]
        if one["code"] in code and (not code[one["code"]] or (key(one["code"]), key(one["symbol"])) in drawn)
    ]


def pack(bundle: PaperBundle, shown: frozenset[str], generation: int) -> bytes:
    """What is to be kept beside the graph, in which the techniques with ids in `shown` are."""
    said = bundle.model_dump()
    said["paper"] = _remaining("Paper", said["paper"])
    technique = {"Technique": "id", "Code": "technique"}
    for label, name in _LISTS.items():
        its = technique.get(label)
        said[name] = [{"whole": one} if its and one[its] not in shown else _remaining(label, one) for one in said[name]]
    said["generation"] = generation
    return zlib.compress(json.dumps(said, separators=(",", ":")).encode("ascii"))


def unpack(data: bytes) -> Rest:
    """Raises `ValueError` for bytes that are not what was packed."""
    try:
        return Rest(json.loads(zlib.decompress(data)))
    except (zlib.error, KeyError, TypeError) as error:
        raise ValueError(str(error)) from error


def _remaining(label: str, node: dict[str, Any]) -> dict[str, Any]:
    """The fields of a node that the graph has not, or not as they are."""
    held = {name for name, _ in _COLUMNS[label] if _is_exact(label, name, node[name])}
    return {name: value for name, value in node.items() if name not in held}


def _merged(label: str, kept: dict[str, Any], stored: Properties) -> dict[str, Any]:
    """The fields of a node: as the graph has them, or as they were before it took them."""
    node = dict(kept)
    for name, several in _COLUMNS[label]:
        value = stored.get(name)
        if name in kept and _projected(label, name, kept[name]) == value:
            continue
        if value is not None and (label, name) in _JSON:
            value = json.loads(value)
        if value is None and several:
            value = []
        node[name] = value
    return node


def _is_exact(label: str, name: str, value: Any) -> bool:
    if isinstance(value, str):
        return encodable(value) == value
    if (label, name) in _JSON:
        return nested(value) == json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return texts(value) == tuple(value)
    return True


def _projected(label: str, name: str, value: Any) -> Any:
    """`value` as `xkg.store.rows` puts it into a node."""
    if (label, name) in _JSON and value is not None:
        return nested(value)
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list | tuple):
        return list(texts(value))
    return value
