"""What Neo4j's own indexes search: bookkeeping nodes `(:SearchEntry)`, one for each visible technique.

A technique's text is one property, as it is one field of Tantivy's: the terms that `xkg.store.indexes.text` makes of
it, indexed as they stand (Lucene's whitespace analyzer), since Lucene's English analyzer has other stop words and
another stemmer. One without any holds a word that no query has, because Lucene weighs a term by the documents that have
its field at all. `drawn` is a hash of the technique's id: the first few in its order are a sample that is the same each
time, and changes as little as the graph does. `codes` are those of the text's words (`xkg.embeddings.base`), if the
model gives such.

`(:Meta {search_model})` names the embedding model of the vectors. Where it is set, every writer keeps the entries,
whatever its own settings say, so that no reader misses a paper.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, LiteralString

from neo4j import ManagedTransaction

from xkg.embeddings.base import Documents
from xkg.errors import ModelMismatchError
from xkg.model import PaperBundle
from xkg.store import rows
from xkg.store.index_entries import Entry
from xkg.store.indexes import text
from xkg.store.local.generation import REBUILD

EntryRow = dict[str, Any]

_NOTHING = "-"
_BATCH = 500

_DELETE: LiteralString = "UNWIND $papers AS paper MATCH (e:SearchEntry {paper: paper}) WHERE NOT e.id IN $but DELETE e"
# What is set to what it was costs the indexes nothing.
_WRITE: LiteralString = (
    "MATCH (m:Meta {id: 'graph'}) WHERE m.search_model = $model UNWIND $rows AS row "
    "MERGE (e:SearchEntry {id: row.id}) SET e.technique = row.technique, e.paper = row.paper, e.scope = row.scope, "
    "e.drawn = row.drawn, e.text = row.text, e.codes = row.codes WITH e, row "
    "CALL db.create.setNodeVectorProperty(e, 'embedding', row.embedding) RETURN count(*)"
)


def entry_rows(bundle: PaperBundle, visible: Sequence[Entry], found: Documents) -> list[EntryRow]:
    """The entries of a paper; what a model `found` in text i is of `visible[i]`."""
    own = bundle.paper.id
    return [
        {
            "id": rows.key(entry.technique.id),
            "technique": json.dumps(entry.technique.id),
            "paper": rows.key(own),
            "scope": scope(own),
            "drawn": _hash(entry.technique.id),
            "text": " ".join(text.analyzed(text.searched(entry))) or _NOTHING,
            "embedding": vector.tolist(),
            "codes": codes or None,
        }
        for entry, vector, codes in zip(visible, found.vectors, found.codes, strict=True)
    ]


def write_entries(
    transaction: ManagedTransaction, papers: Sequence[str], found: Sequence[EntryRow], model: str
) -> None:
    """Puts `found` in the place of all entries that these papers had; `papers` are their own ids, also of those that
    go, and `model` made the vectors. Raises `ModelMismatchError` where the index is of another one."""
    among = [rows.key(paper) for paper in papers]
    transaction.run(_DELETE, papers=among, but=[row["id"] for row in found]).consume()
    for start in range(0, len(found), _BATCH):
        part = list(found[start : start + _BATCH])
        if transaction.run(_WRITE, model=model, rows=part).single(strict=True)[0] != len(part):
            stored = transaction.run("MATCH (m:Meta {id: 'graph'}) RETURN m.search_model").single()
            raise ModelMismatchError(mismatch(str(stored[0] if stored else None), model))


def scope(paper: str) -> str:
    """A paper as one term of the text index."""
    return _hash(paper)


def _hash(own_id: str) -> str:
    return hashlib.sha256(rows.key(own_id).encode()).hexdigest()[:16]


def mismatch(stored: str, model: str) -> str:
    """What is said where the vectors are of `stored` and those of `model` are wanted."""
    return (
        f"the search indexes of this graph were made with embedding model {stored!r}, and {model!r} is set: set "
        f"{stored!r} again, or {REBUILD} to embed everything anew"
    )
