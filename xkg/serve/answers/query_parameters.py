"""Resolves the parameters of named queries. A paper parameter accepts any reference to a paper."""

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
    """Returns the values with each reference to a paper replaced by the paper's id. If `query` is a Cypher statement,
    values are unchanged, except that `$trusted` is set to the fingerprints of the currently trusted keys. Raises
    `UnknownIdError` if a paper is neither in the graph nor cited in it."""
    if not named_queries.is_name(query):
        if "$trusted" not in query or "trusted" in values:
            return values
        # Neither engine can infer an empty list's type.
        return {**values, "trusted": list(trusted().names) or [""]}
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
