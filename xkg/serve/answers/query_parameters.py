"""The parameters of a named query: papers by any reference to them."""

from collections.abc import Mapping
from typing import Any

from xkg.attestations.trust import trusted
from xkg.errors import UnknownIdError
from xkg.serve.answers.references import paper_id
from xkg.store.cypher import named_queries
from xkg.store.graph_store import GraphStore, Snapshot

_STUB = "MATCH (p:Paper) WHERE p.id = $id RETURN p.id"


def with_paper_ids(
    store: GraphStore, snapshot: Snapshot, query: str, values: Mapping[str, Any], seconds: float
) -> Mapping[str, Any]:
    """The values, with the id of each paper that one of them refers to; those of a statement as they are, with the
    fingerprints of the keys that count now where it asks for `$trusted`. Raises `UnknownIdError` for a paper that
    neither is in the graph nor cited there."""
    if not named_queries.is_name(query):
        if "$trusted" not in query or "trusted" in values:
            return values
        return {**values, "trusted": list(trusted().names) or [""]}  # neither engine knows the type of an empty list
    papers = {each.name for each in named_queries.find(query.strip()).parameters if each.type == "paper"}
    return {
        name: _known(store, snapshot, value, seconds) if name in papers and isinstance(value, str) and value else value
        for name, value in values.items()
    }


def _known(store: GraphStore, snapshot: Snapshot, reference: str, seconds: float) -> str:
    try:
        return paper_id(snapshot, reference)
    except UnknownIdError:
        if store.query(_STUB, {"id": reference}, rows=1, seconds=seconds).rows:
            return reference
        raise
