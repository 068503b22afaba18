"""Stores a paper's complete bundle next to its nodes, so that the conversion from a bundle to Neo4j and back is
lossless.

A value is read from the bundle unless it was changed in the graph. A substitute in the node for characters that no
engine can store (lone surrogates, NUL) does not count as a change. A value that was changed in the graph is read from
the graph."""

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
_DERIVED = {("Code", "name"), ("Code", "claimed"), ("Code", "attested_by[]")}
"""Columns that are computed from other fields."""
_COLUMNS = {
    label: [
        (column.removesuffix("[]"), column.endswith("[]"))
        for column in columns.split()[1:]
        if (label, column) not in _DERIVED
    ]
    for label, columns in NODES.items()
}

Properties = Mapping[str, Any]


class Parts(NamedTuple):
    """The graph's data about papers. `nodes` contains node properties, keyed by label and node key. `edges` contains
    edge properties, keyed by type and both node keys."""

    nodes: dict[str, dict[str, dict[str, Any]]]
    edges: dict[str, dict[tuple[str, str], list[dict[str, Any]]]]


class Rest:
    """A paper's extra data at the commit `generation`. `keys` contains the keys of the paper's own nodes."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields
        self.generation = int(fields["generation"])
        self.paper: str = fields["paper"]["id"]
        self.keys = {
            label: [key(node["id"]) for node in fields[name] if "whole" not in node] for label, name in _LISTS.items()
        }
        self.keys["Paper"] = [key(self.paper)]
        self.repositories = {key(node["id"]): node for node in fields["repositories"]}
        self.symbols = {key(node["id"]): key(node["repository"]) for node in fields["symbols"]}

    def bundle(self, found: Parts) -> PaperBundle:
        """Returns the bundle in its current state in the graph. Nodes deleted from the graph are omitted, along with
        everything that depends on them. Raises `CorruptStoreError` if a value is invalid."""
        try:
            fields = {name: value for name, value in self._fields.items() if name != "generation"}
            fields["paper"] = _merged("Paper", fields["paper"], found.nodes["Paper"].get(key(self.paper), {}))
            for label, name in _LISTS.items():
                there = found.nodes.get(label, {})
                fields[name] = [
                    node["whole"] if "whole" in node else _merged(label, node, there[key(node["id"])])
                    for node in fields[name]
                    if "whole" in node or key(node["id"]) in there
                ]
            _leave_out(fields, found)
            return PaperBundle.model_validate(fields)
        except (ValidationError, ValueError, TypeError, RecursionError) as error:
            if isinstance(error, ValidationError):
                first = error.errors()[0]
                line = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            else:
                line = str(error)
            raise CorruptStoreError(
                f"paper {self.paper!a} was changed in the graph to an invalid value ({line[:160]}); correct the "
                "value there, or build or import the paper again"
            ) from error


def _leave_out(fields: dict[str, Any], found: Parts) -> None:
    """Removes everything that depends on a deleted node, and updates code locations from the graph."""
    known: set[str | None] = {None}
    techniques = []
    for technique in fields["techniques"]:
        if technique["parent"] in known:
            known.add(technique["id"])
            techniques.append(technique)
    visible = {technique["id"] for technique in techniques if technique["hidden"] is None}
    fields["techniques"] = techniques
    fields["code"] = [code for code in fields["code"] if code["technique"] in known]
    edges = found.edges.get("LOCATED_AT", {})
    places = []
    for place in fields["locations"]:
        if place["technique"] not in visible:
            places += [place] if place["technique"] in known else []
            continue
        drawn = edges.get((key(place["technique"]), key(place["symbol"])), [])
        if drawn:
            changed = {name: drawn[0][name] for name in ("score", "rank") if name in drawn[0]}
            places.append({**place, **changed} if len(drawn) == 1 else place)
    fields["locations"] = places
    edges = found.edges.get("DERIVED_FROM", {})
    technique_of = {code["id"]: code["technique"] for code in fields["code"]}
    fields["derivations"] = [
        source
        for source in fields["derivations"]
        if source["code"] in technique_of
        and (technique_of[source["code"]] not in visible or (key(source["code"]), key(source["symbol"])) in edges)
    ]


def pack(bundle: PaperBundle, visible: frozenset[str], generation: int) -> bytes:
    """Serialises a bundle's extra data. `visible` contains the ids of the techniques that are stored as nodes."""
    fields = bundle.model_dump()
    for name, field in (("techniques", "id"), ("code", "technique")):
        fields[name] = [node if node[field] in visible else {"whole": node} for node in fields[name]]
    fields["generation"] = generation
    return zlib.compress(json.dumps(fields, separators=(",", ":")).encode("ascii"))


def unpack(data: bytes) -> Rest:
    """Deserialises extra data from `pack`. Raises `ValueError` if the bytes are damaged."""
    try:
        return Rest(json.loads(zlib.decompress(data)))
    except (zlib.error, KeyError, TypeError) as error:
        raise ValueError(str(error)) from error


def _merged(label: str, extras: dict[str, Any], stored: Properties) -> dict[str, Any]:
    """Returns a node's fields from `extras`, or from the graph for fields changed there."""
    node = dict(extras)
    for name, several in _COLUMNS[label]:
        value = stored.get(name)
        if _projected(label, name, extras[name]) == value:
            continue
        if value is not None and (label, name) in _JSON:
            value = json.loads(value)
        if value is None and several:
            value = []
        node[name] = value
    return node


def _projected(label: str, name: str, value: Any) -> Any:
    """Returns the value as `xkg.store.rows` stores it in a node."""
    if (label, name) in _JSON and value is not None:
        return nested(value)
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list | tuple):
        return list(texts(value))
    return value
