"""Techniques by their names, without a scan: bookkeeping nodes `(:XkgName {key, technique, paper, order})`, one for
each different name of a technique.

Neo4j cannot index lists, nor strings above 8 KB, which a name may exceed. So `key` is the hash of the name without
case, spaces and punctuation. `technique` is the id as an ASCII JSON string, since an id may have characters that no
engine stores."""

import hashlib
import json
from collections.abc import Sequence
from typing import LiteralString

from neo4j import ManagedTransaction

from xkg.model import PaperBundle
from xkg.store import rows
from xkg.store.index_entries import Entry
from xkg.store.indexes.catalogue import name_key
from xkg.store.neo4j.db.index_hints import seek

NameRow = dict[str, str | int]

WRITE = (
    f"UNWIND $all.papers AS paper {seek('n', 'XkgName', 'paper', by='paper')} DELETE n",
    "UNWIND $all.names AS row "
    "CREATE (:XkgName {key: row.key, technique: row.technique, paper: row.paper, order: row.order})",
)
"""Parts of the statement that writes papers: `names` replace all names of `papers`, which are keys."""

_NAMED: LiteralString = "MATCH (n:XkgName {key: $key}) RETURN n.technique ORDER BY n.paper, n.order"


def name_rows(bundle: PaperBundle, entries: Sequence[Entry]) -> list[NameRow]:
    """The names and aliases that find a paper's techniques."""
    paper = rows.key(bundle.paper.id)
    found: list[NameRow] = []
    for order, entry in enumerate(entries):
        technique = entry.technique
        for name in sorted({name_key(n) for n in (technique.name, *technique.aliases)} - {""}):
            found.append({"key": _key(name), "technique": json.dumps(technique.id), "paper": paper, "order": order})
    return found


def named(transaction: ManagedTransaction, name: str) -> list[str]:
    """Ids of techniques with a name or alias that equals `name`, ignoring case, spaces and punctuation; ordered by
    paper id, then by the order within the paper."""
    wanted = name_key(name)
    if not wanted:
        return []
    return [json.loads(technique) for (technique,) in transaction.run(_NAMED, key=_key(wanted))]


def _key(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
