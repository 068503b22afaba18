"""`SearchIndex`: Neo4j's own vector and full-text indexes over the `(:SearchEntry)` nodes of `search_entries`.

Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical Navigable Small World
graphs", IEEE TPAMI 42(4), 2020 (the vector index).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, LiteralString

from neo4j import ManagedTransaction
from neo4j.exceptions import ClientError

from xkg.embeddings.base import Documents, documents
from xkg.errors import ModelMismatchError, StoreError
from xkg.model import PaperBundle
from xkg.store import rows
from xkg.store.graph_store import Hit
from xkg.store.index_entries import entries, vector_text
from xkg.store.indexes import text
from xkg.store.local.generation import REBUILD
from xkg.store.neo4j.search.entries import EntryRow, entry_rows, mismatch, scope, write_entries

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from xkg.embeddings.base import Embedder
    from xkg.store.neo4j.db.connection import Connection

VECTORS = "xkg_search_vectors"
TEXTS = "xkg_search_texts"

_INDEX_FAILED = "the search indexes of this graph cannot be used"
_LUCENE_BM25 = 2.2
"""Lucene leaves the constant factor k1 + 1 of BM25 out, Tantivy keeps it."""
_LEAST_CANDIDATES = 200
"""HNSW looks at as many candidates as it is asked for: recall@10 was 0.83 for 10, 1.00 for 200."""
_EXACT_UP_TO = 2000
_PAPERS_A_QUERY = 300
"""Lucene takes 1,024 clauses in a query: 128 terms leave room for these."""
_ONLINE_SECONDS = 600

_STATE: LiteralString = "MATCH (m:Meta {id: 'graph'}) RETURN m.search_model"
_INDEXES: LiteralString = (
    "SHOW INDEXES YIELD name, state, options WHERE name IN ['xkg_search_vectors', 'xkg_search_texts'] "
    "RETURN name, state, options.indexConfig['vector.dimensions'] AS dimension"
)
# Setting a property to what it is takes the lock that writers wait for.
_LOCK: LiteralString = "MATCH (m:Meta {id: 'graph'}) SET m.schema = m.schema"
_CLAIM: LiteralString = (
    "MATCH (m:Meta {id: 'graph'}) SET m.schema = m.schema "
    "WITH m SET m.search_model = coalesce(m.search_model, $model) RETURN m.search_model"
)
_CREATE_TEXTS: LiteralString = (
    "CREATE FULLTEXT INDEX xkg_search_texts IF NOT EXISTS FOR (e:SearchEntry) "
    "ON EACH [e.scope, e.text] "
    "OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: false}}"
)
# Not quantised: it was no faster, and its scores are cosines as they are.
_CREATE_VECTORS: LiteralString = (
    "CREATE VECTOR INDEX xkg_search_vectors IF NOT EXISTS FOR (e:SearchEntry) ON (e.embedding) "
    "OPTIONS {indexConfig: {`vector.dimensions`: $dimension, `vector.similarity_function`: 'cosine', "
    "`vector.quantization.enabled`: false}}"
)
_DROP_VECTORS: LiteralString = "DROP INDEX xkg_search_vectors IF EXISTS"
_DROP_TEXTS: LiteralString = "DROP INDEX xkg_search_texts IF EXISTS"
_SET_MODEL: LiteralString = "MATCH (m:Meta {id: 'graph'}) SET m.search_model = $model"
_AWAIT: LiteralString = "CALL db.awaitIndex($name, $seconds)"
_DELETE_SOME: LiteralString = "MATCH (e:SearchEntry) WITH e LIMIT 10000 DELETE e RETURN count(*)"
# More than are asked for, so that equal scores at the end are told apart by id too.
_FIND_TEXT: LiteralString = (
    "UNWIND $queries AS query CALL db.index.fulltext.queryNodes('xkg_search_texts', query, {limit: $k + 50}) "
    "YIELD node, score RETURN node.technique, score ORDER BY score DESC, node.id LIMIT $k"
)
_FIND_VECTOR: LiteralString = (
    "CALL db.index.vector.queryNodes('xkg_search_vectors', $candidates, $vector) YIELD node, score "
    "WITH node, score WHERE $papers IS NULL OR node.paper IN $papers "
    "RETURN node.technique, score ORDER BY score DESC, node.id LIMIT $k"
)
_FIND_EXACTLY: LiteralString = (
    "UNWIND $papers AS paper MATCH (e:SearchEntry {paper: paper}) "
    "WITH e, vector.similarity.cosine(e.embedding, $vector) AS score "
    "RETURN e.technique, score ORDER BY score DESC, e.id LIMIT $k"
)
_TOTAL: LiteralString = "MATCH (e:SearchEntry) RETURN count(e)"
_HAVING: LiteralString = (
    "UNWIND $terms AS term CALL (term) { WITH 'text:\"' + term + '\"' AS wanted "
    "CALL db.index.fulltext.queryNodes('xkg_search_texts', wanted) YIELD score RETURN count(score) AS having } "
    "RETURN term, having"
)
_TEXTS: LiteralString = "UNWIND $ids AS id MATCH (e:SearchEntry {id: id}) RETURN e.technique, e.text"
_VECTORS: LiteralString = "UNWIND $ids AS id MATCH (e:SearchEntry {id: id}) RETURN e.technique, e.embedding"
_CODES: LiteralString = (
    "UNWIND $ids AS id MATCH (e:SearchEntry {id: id}) WHERE e.codes IS NOT NULL RETURN e.technique, e.codes"
)
_SAMPLE: LiteralString = (
    "MATCH (e:SearchEntry) WHERE e.drawn >= '' WITH e ORDER BY e.drawn LIMIT $most RETURN e.embedding"
)
_COUNTS: LiteralString = (
    "MATCH (e:SearchEntry) WITH count(e) AS total "
    "UNWIND $papers AS paper OPTIONAL MATCH (e:SearchEntry {paper: paper}) RETURN total, count(e)"
)
_WITHOUT_ENTRIES: LiteralString = (
    "MATCH (b:Bundle) WHERE b.removed = false AND NOT EXISTS { MATCH (:SearchEntry {paper: b.id}) } "
    "RETURN b.paper, b.generation ORDER BY b.id"
)
_UNCHANGED: LiteralString = (
    "MATCH (b:Bundle {id: $paper}) WHERE b.removed = false AND b.generation = $generation RETURN count(b)"
)


class SearchIndex:
    """The two indexes of one database. `prepare` comes first; safe to use from several threads after it."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self.model = ""
        self.dimension = 0

    def prepare(self, dimension: int, model: str) -> None:
        """Makes what is missing of the indexes and waits until both answer; reads alone where all is there.

        Raises `ModelMismatchError` where the vectors are of another model or dimension, and `StoreError` where an index
        does not come up."""
        stored = self.stored_model()
        if stored is None:
            claimed = self._write(_CLAIM, model=model)
            if not claimed:
                raise StoreError("this Neo4j database holds no graph of xkg yet: run `xkg store migrate`")
            stored = str(claimed[0][0])
        if stored != model:
            raise ModelMismatchError(mismatch(stored, model))
        there = {name: (state, size) for name, state, size in self._read(_INDEXES)}
        if VECTORS in there and there[VECTORS][1] != dimension:
            raise ModelMismatchError(
                f"the vector index of this graph has {there[VECTORS][1]} dimensions, model {model!r} has {dimension}: "
                f"{REBUILD} to embed everything anew"
            )
        if VECTORS not in there:
            self._write(_CREATE_VECTORS, dimension=dimension)
        if TEXTS not in there:
            self._write(_CREATE_TEXTS)
        for name in (VECTORS, TEXTS):
            if there.get(name, ("", 0))[0] != "ONLINE":
                self._read(_AWAIT, name=name, seconds=_ONLINE_SECONDS)
        self.model, self.dimension = model, dimension

    def reset(self, dimension: int, model: str) -> None:
        """Empties the indexes and makes them for another model: `backfill` fills them again."""
        for name in (_DROP_VECTORS, _DROP_TEXTS):
            self._write(name)
        self._write(_SET_MODEL, model=model)
        while self._write(_DELETE_SOME)[0][0]:
            pass
        self.prepare(dimension, model)

    def stored_model(self) -> str | None:
        """The model of the vectors that are there; None where nobody asked for these indexes yet."""
        found = self._read(_STATE)
        return found[0][0] if found else None

    def backfill(
        self, bundles: Callable[[Sequence[str]], Iterator[PaperBundle]], embedder: "Embedder", *, batch: int = 20
    ) -> int:
        """Makes entries for all papers that have none, each in a transaction of its own, so that it can be stopped and
        started at any time; gives the number of papers. `bundles` reads papers by id, leaving out those that are gone.
        What a writer changes meanwhile stays as the writer left it."""
        waiting = [(json.loads(paper), generation) for paper, generation in self._read(_WITHOUT_ENTRIES)]
        done = 0
        for start in range(0, len(waiting), batch):
            generations = dict(waiting[start : start + batch])
            read = [(bundle, list(entries(bundle))) for bundle in bundles(list(generations))]
            texts = [vector_text(entry) for _, visible in read for entry in visible]
            made = documents(embedder, texts) if texts else None
            first = 0
            for bundle, visible in read:
                if made is not None and visible:
                    paper = bundle.paper.id
                    own = slice(first, first + len(visible))
                    found = entry_rows(bundle, visible, Documents(made.vectors[own], made.codes[own]))
                    done += self._connection.write(partial(self._fill, paper, generations[paper], found))
                first += len(visible)
        return done

    def find_text(self, query: str, k: int, papers: Sequence[str] = ()) -> list[Hit]:
        """Techniques by BM25, best first, at most `k`; of `papers` only where any are given. No query is an error."""
        terms = text.query_terms(query)
        if not terms or k < 1:
            return []
        # Quoted, so that nothing in it is syntax; a term has letters and digits alone anyway.
        either = " ".join(f'"{term}"' for term in terms)
        wanted = f"text:({either})"
        queries = [wanted]
        if papers:
            scopes = [scope(paper) for paper in dict.fromkeys(papers)]
            parts = [scopes[start : start + _PAPERS_A_QUERY] for start in range(0, len(scopes), _PAPERS_A_QUERY)]
            queries = [f"+({wanted}) +scope:({' '.join(part)})^0" for part in parts]
        found = self._read(_FIND_TEXT, queries=queries, k=k)
        return [Hit(id=json.loads(technique), score=score * _LUCENE_BM25) for technique, score in found]

    def find_vector(self, vector: "NDArray[np.float32]", k: int, papers: Sequence[str] = ()) -> list[Hit]:
        """Techniques by cosine similarity, best first, at most `k`; of `papers` only where any are given, and `k` of
        them where they have as many. Raises `ModelMismatchError` for a vector of another length."""
        if vector.size != self.dimension:
            raise ModelMismatchError(
                f"the query vector has {vector.size} dimensions, the index of model {self.model!r} has "
                f"{self.dimension}: use that model, or {REBUILD}"
            )
        if k < 1:
            return []
        wanted: dict[str, Any] = {"vector": vector.astype(float).ravel().tolist(), "k": k}
        candidates = max(_LEAST_CANDIDATES, 2 * k)
        among = None
        if papers:
            among = [rows.key(paper) for paper in dict.fromkeys(papers)]
            total, count = self._read(_COUNTS, papers=among)[0]
            if count <= _EXACT_UP_TO:
                return _cosines(self._read(_FIND_EXACTLY, papers=among, **wanted))
            candidates = -(-candidates * total // count)
        found = self._read(_FIND_VECTOR, papers=among, candidates=candidates, **wanted)
        if among is not None and len(found) < min(k, count):
            found = self._read(_FIND_EXACTLY, papers=among, **wanted)
        return _cosines(found)

    def count(self) -> int:
        """The number of techniques."""
        return int(self._read(_TOTAL)[0][0])

    def having(self, terms: Sequence[str]) -> dict[str, int]:
        """How many techniques have each of these terms, which are as `text.query_terms` gives them."""
        return {term: int(number) for term, number in self._read(_HAVING, terms=list(terms))}

    def texts(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """The terms of those of these techniques that are here."""
        found = self._read(_TEXTS, ids=[rows.key(technique) for technique in ids])
        return {json.loads(technique): terms.split() for technique, terms in found}

    def vectors(self, ids: Sequence[str]) -> "dict[str, NDArray[np.float32]]":
        """The unit vectors of those of these techniques that are here."""
        import numpy as np

        found = self._read(_VECTORS, ids=[rows.key(technique) for technique in ids])
        return {json.loads(technique): np.asarray(vector, dtype=np.float32) for technique, vector in found}

    def codes(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The codes of the words of those of these techniques that have any."""
        found = self._read(_CODES, ids=[rows.key(technique) for technique in ids])
        return {json.loads(technique): bytes(codes) for technique, codes in found}

    def sample(self, most: int) -> "NDArray[np.float32]":
        """The vectors of at most so many techniques, drawn at random and the same each time."""
        import numpy as np

        found = self._read(_SAMPLE, most=most)
        return np.asarray([vector for (vector,) in found], dtype=np.float32).reshape(len(found), -1)

    def _fill(self, paper: str, generation: int, found: list[EntryRow], transaction: ManagedTransaction) -> int:
        transaction.run(_LOCK).consume()
        unchanged = transaction.run(_UNCHANGED, paper=rows.key(paper), generation=generation).single(strict=True)[0]
        if unchanged:
            write_entries(transaction, [paper], found, self.model)
        return int(unchanged)

    def _read(self, statement: LiteralString, **parameters: Any) -> list[tuple[Any, ...]]:
        def work(transaction: ManagedTransaction) -> list[tuple[Any, ...]]:
            try:
                return [tuple(record) for record in transaction.run(statement, parameters)]
            except ClientError as error:
                if error.code == "Neo.ClientError.Procedure.ProcedureCallFailed":
                    raise StoreError(f"{_INDEX_FAILED} ({_line(error)}): {REBUILD}") from error
                raise

        return self._connection.read(work)

    def _write(self, statement: LiteralString, **parameters: Any) -> list[tuple[Any, ...]]:
        return self._connection.write(lambda tx: [tuple(record) for record in tx.run(statement, parameters)])


def _cosines(found: Sequence[tuple[Any, ...]]) -> list[Hit]:
    """Neo4j's scores are (1 + cosine) / 2."""
    return [Hit(id=json.loads(technique), score=2 * score - 1) for technique, score in found]


def _line(error: ClientError) -> str:
    return " ".join((error.message or "").split())[:200]
