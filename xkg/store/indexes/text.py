"""Searches a generation's text index, which uses Tantivy and BM25F. The index covers names, definitions, documentation
and code identifiers.

Runs of code (`xkg.store.indexes.code_runs`) are in a separate field.

All searchable text for a technique is in one field, in which more informative parts are repeated. See Robertson,
Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields", CIKM 2004. With separate fields, "random"
would be rare among names but common in definitions. Techniques with "random" in their names would then rank too high
because of this uninformative word.

Text is split like identifiers (`xkg.fusion.split_identifier`), so that `LayerNorm`, `layer_norm` and "layer norm"
match. Compounds are also indexed as one word, so that "layernorm" finds `LayerNorm` and `layer_norm`. Words are then
stemmed as English."""

import contextlib
import errno
import functools
import json
import math
import re
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from xkg.fusion import split_identifier
from xkg.store.index_entries import Entry, encodable
from xkg.store.indexes.code_runs import code_runs, runs_of_query

_NAME, _ALIAS = 3, 2
_DEFINED = re.compile(r"\n[ \t]*(?:(?:async|export|pub|static)[ \t]+)*(?:def|class|func|fn|function|struct)[ \t]+(\w+)")
_COMPOUND = re.compile(r"\w+(?:-\w+)*")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_LONGEST_WORD = 64
_MOST_TERMS = 128
_FEW = 500
_HEAP_BYTES = 32_000_000
_UNION = 4096
"""Size of Tantivy's window, in documents. In a search for several terms, Tantivy evaluates this many documents around
each document that it visits. In a search for one term, Tantivy evaluates only the documents that it visits."""
_NESTED = 32
"""Maximum nesting depth of queries. Tantivy copies queries at each level, and 128 levels overflow a small stack."""
_CACHED_RARITIES = 10_000
_CACHED_QUERIES = 32
"""Number of queries whose terms are cached. A search looks up the terms of a query and its parts several times."""


def words(text: str) -> str:
    """Splits text into words for indexing and searching, and returns them separated by spaces. Stop words are not
    removed and words are not stemmed."""
    bare = _BEYOND_ASCII.sub(_unmarked, unicodedata.normalize("NFKD", encodable(text)))
    compounds = _COMPOUND.findall(bare)
    longest = max(map(len, compounds), default=0)
    return " ".join(filter(None, map(_split if longest <= _LONGEST_WORD else _split.__wrapped__, compounds)))


def _unmarked(beyond: re.Match[str]) -> str:
    return "".join(c for c in beyond[0] if not unicodedata.combining(c))


@functools.lru_cache(1 << 16)
def _split(compound: str) -> str:
    """Returns the words in a compound and the compound itself. The result is cached, because most texts use the same
    few thousand compounds."""
    pieces = split_identifier(compound)
    if len(pieces) > 1:
        pieces.append("".join(pieces))
    return " ".join(word for word in pieces if len(word) <= _LONGEST_WORD)


@functools.lru_cache(_CACHED_QUERIES)
def query_terms(query: str) -> tuple[str, ...]:
    """Returns up to `_MOST_TERMS` distinct terms in a query, in order. Terms are stemmed words other than stop
    words."""
    return tuple(dict.fromkeys(_analyzer().analyze(words(query))))[:_MOST_TERMS]


@functools.lru_cache(1 << 16)
def word_terms(word: str) -> tuple[str, ...]:
    """Like `query_terms`, but for one word. The result is cached, because most queries use the same few thousand
    words."""
    return query_terms.__wrapped__(word)


def searched(entry: Entry) -> str:
    """Returns the searchable words for a technique. More informative words are repeated."""
    technique, code = entry.technique, entry.code
    documented = [code.documentation, *_DEFINED.findall("\n" + code.implementation)] if code else []
    texts = [
        *[technique.name] * _NAME,
        *[*technique.aliases] * _ALIAS,
        *entry.path[:-1],
        entry.paper_title,
        technique.definition,
        *documented,
    ]
    return words(" ".join(texts))


def rarity(number: int, count: int) -> float:
    """Returns the weight of a term that occurs in `number` of `count` techniques. The weight is the square root of the
    term's inverse document frequency, scaled so that a term that occurs in no technique has weight 1."""
    rarest = math.log1p((count + 0.5) / 0.5)
    return math.sqrt(math.log1p((count - min(number, count) + 0.5) / (number + 0.5)) / rarest)


def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("row", stored=True, indexed=True, fast=True)
    builder.add_unsigned_field("paper", stored=False, indexed=True, fast=True)
    builder.add_text_field("text", stored=False, tokenizer_name="words", index_option="freq")
    builder.add_text_field("code", stored=False, tokenizer_name="runs", index_option="freq")
    return builder.build()


@functools.cache
def _analyzer() -> Any:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.whitespace())
    return builder.filter(Filter.stopword("english")).filter(Filter.stemmer("english")).build()


@functools.cache
def _runs_analyzer() -> Any:
    from tantivy import TextAnalyzerBuilder, Tokenizer

    return TextAnalyzerBuilder(Tokenizer.whitespace()).build()


def _register(index: Any) -> None:
    index.register_tokenizer("words", _analyzer())
    index.register_tokenizer("runs", _runs_analyzer())


class TextWriter:
    """Fills a new index in an existing empty folder, or adds to an index that has no readers yet. `close` finishes the
    files. Existing files are replaced or removed, but never changed. Raises `OSError` if the files cannot be
    written."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        self._tantivy = tantivy
        with _input_output():
            there = (folder / "meta.json").exists()
            index = tantivy.Index.open(str(folder)) if there else tantivy.Index(_schema(), path=str(folder))
            _register(index)
            self._schema = index.schema
            # A single thread keeps documents in row order, so that equal graphs have equal rankings.
            self._writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)

    def add(self, row: int, paper: int, entry: Entry) -> None:
        document = self._tantivy.Document()
        document.add_unsigned("row", row)
        document.add_unsigned("paper", paper)
        document.add_text("text", searched(entry))
        if entry.code is not None:
            document.add_text("code", " ".join(code_runs(encodable(entry.code.implementation))))
        with _input_output():
            self._writer.add_document(document)

    def remove(self, papers: Sequence[int]) -> None:
        """Removes the entries for these papers. The words in these entries still affect BM25 scores until Tantivy
        merges segments."""
        with _input_output():
            self._writer.delete_documents_by_query(
                self._tantivy.Query.term_set_query(self._schema, "paper", list(papers))
            )

    def close(self) -> None:
        with _input_output():
            self._writer.commit()
            self._writer.wait_merging_threads()


@contextlib.contextmanager
def _input_output() -> Iterator[None]:
    """Converts Tantivy's `ValueError` for a file that cannot be written to an `OSError`."""
    try:
        yield
    except ValueError as error:
        raise OSError(errno.EIO, str(error).splitlines()[0]) from error


@contextlib.contextmanager
def _lockable(folder: Path) -> Iterator[Path]:
    """Yields a temporary folder with links to the files in `folder`. Tantivy writes a lock file to the index's folder,
    but a generation may be read-only. Open files can still be read after the temporary folder has been removed."""
    with tempfile.TemporaryDirectory(prefix="xkg-text-", ignore_cleanup_errors=True) as place:
        for path in folder.iterdir():
            (Path(place) / path.name).symlink_to(path.absolute())
        yield Path(place)


class TextIndex:
    """Searches a finished index. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        self._tantivy = tantivy
        meta = json.loads((folder / "meta.json").read_bytes())
        self._deleted = any(segment.get("deletes") for segment in meta["segments"])
        self._rarity = functools.lru_cache(_CACHED_RARITIES)(self._read_rarity)
        with _lockable(folder) as place:
            index = tantivy.Index.open(str(place))
            _register(index)
            index.config_reader(reload_policy="manual")
            self._schema = index.schema
            self._searcher = index.searcher()

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    def search(self, query: str, k: int, papers: Sequence[int] | None = None) -> list[tuple[int, float]]:
        """Returns up to `k` rows and their BM25 scores, best first. If `papers` is given, searches only those papers.
        Queries are plain text, so no query is invalid."""
        return self._having_any(query_terms(query), "text", k, papers)

    def search_code(self, query: str, k: int, papers: Sequence[int] | None = None) -> list[tuple[int, float]]:
        """If the query is code, returns rows whose code has runs in common with `query`. A row's score (0 to 1) is the
        fraction of the query's weight that the row's code matches. Rows are ordered by score, highest first, and then
        by BM25."""
        runs = runs_of_query(query)[:_MOST_TERMS]
        rows = [row for row, _ in self._having_any(runs, "code", k, papers)]
        if not rows:
            return []
        weights = {run: rarity(self._having(run, "code"), len(self)) for run in runs}
        found = self._weights(weights, rows, "code")
        total = sum(weights.values())
        return sorted([(row, found.get(row, 0.0) / total) for row in rows], key=lambda hit: -hit[1])

    def _having_any(
        self, terms: Sequence[str], field: str, k: int, papers: Sequence[int] | None
    ) -> list[tuple[int, float]]:
        if not terms or (papers is not None and not papers):
            return []
        build, occur = self._tantivy.Query, self._tantivy.Occur
        any_term = build.boolean_query([(occur.Should, self._term(term, field)) for term in terms])
        wanted = any_term
        if papers is not None:
            among = self._any_of("paper", papers)
            wanted = build.boolean_query([(occur.Must, any_term), (occur.Must, build.boost_query(among, 0.0))])
        return self._found(wanted, k)

    def matched(self, query: str, rows: Sequence[int]) -> tuple[dict[int, float], float]:
        """For each of `rows`, returns the total weight (`rarity`) of the query's words that it contains. Also returns
        the total weight of all words in the query."""
        rarities = self.rarity(query_terms(query))
        total = sum(rarities.values())
        if not rarities or not rows:
            return dict.fromkeys(rows, 0.0), total
        return self._weights(rarities, rows, "text"), total

    def _weights(self, weights: Mapping[str, float], rows: Sequence[int], field: str) -> dict[int, float]:
        build, occur = self._tantivy.Query, self._tantivy.Occur
        among = build.const_score_query(self._any_of("row", rows), 0.0)
        weighed = [
            (occur.Should, build.const_score_query(self._term(term, field), weight)) for term, weight in weights.items()
        ]
        if len(self) <= _UNION or len(weighed) > _NESTED:
            wanted = build.boolean_query([(occur.Must, among), *weighed])
        else:
            wanted = among
            for term in weighed:
                wanted = build.boolean_query([(occur.Must, wanted), term])
        return dict(self._found(wanted, len(rows)))

    def rarity(self, terms: Sequence[str]) -> dict[str, float]:
        """Returns the weight of each term (see the function `rarity`)."""
        return {term: self._rarity(term) for term in terms}

    def _read_rarity(self, term: str) -> float:
        return rarity(self._having(term), len(self))

    def _any_of(self, field: str, numbers: Sequence[int]) -> Any:
        build = self._tantivy.Query
        if len(numbers) > _FEW:
            return build.term_set_query(self._schema, field, list(numbers))
        # This is faster than a set query, which would scan all terms in the field.
        should = self._tantivy.Occur.Should
        return build.boolean_query([(should, build.term_query(self._schema, field, number)) for number in numbers])

    def _having(self, term: str, field: str = "text") -> int:
        """Returns the number of techniques that contain a term. The index's own count includes deleted techniques, so
        if any techniques have been deleted, this method runs a search instead."""
        if not self._deleted:
            return int(self._searcher.doc_freq(field, term))
        found: Any = self._searcher.search(self._term(term, field), limit=1, count=True)
        return int(found.count)

    def _term(self, term: str, field: str) -> Any:
        return self._tantivy.Query.term_query(self._schema, field, term, "freq")

    def _found(self, wanted: Any, k: int) -> list[tuple[int, float]]:
        hits = self._searcher.search(wanted, limit=min(k, max(1, len(self))), count=False).hits
        rows = self._searcher.fast_field_values("row", [address for _, address in hits])
        ranked = sorted(
            [(-float(score), int(row)) for (score, _), row in zip(hits, rows, strict=True) if row is not None]
        )
        return [(row, -score) for score, row in ranked]
