"""Converts a paper to rows in a property graph, with the same names and values for both engines.

Values are strings, numbers, booleans and tuples of strings. Nested values are JSON strings."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from xkg.attestations.trust import vouchers
from xkg.model import Ablation, Level, PaperBundle
from xkg.store.concepts.citations import Work
from xkg.store.index_entries import Entry, encodable

Value = str | int | float | bool | tuple[str, ...] | None

NODES = {
    "Paper": "id title abstract authors[] year arxiv_id arxiv_version domain subfield references code_files[] "
    "code_overview origin state incomplete[] source_sha256 pipeline_version built_at cost_usd",
    "CitedWork": "id title year arxiv_id",
    "Technique": "id name aliases[] kind definition depth weight grounding excerpts",
    "Code": "id name implementation test documentation language packages[] level claimed attested_by[] evidence claims",
    "Symbol": "id kind path qualified_name start_line end_line signature",
    "Repository": "id url commit license stars archived default_branch is_official",
    "Finding": "id name description",
    "Resource": "id name description",
    "Ablation": "id technique metric direction baseline value change low high seeds kind description diff commit "
    "command measured_at",
}
"""The properties of each label, in the order of a row's values. `[]` marks lists of strings. A `CitedWork` is cited but
has not been built. The name of `Code` is its technique's name. If the level of code is `claimed`, the property
`claimed` contains the claimed level. `attested_by` lists the fingerprints of keys that attest at least the claimed
level or, for any other code, the code's own level."""

EDGES = {
    "PROPOSES": ("Paper", "Technique", "order"),
    "HAS_COMPONENT": ("Technique", "Technique", "order"),
    "IMPLEMENTED_BY": ("Technique", "Code", ""),
    "LOCATED_AT": ("Technique", "Symbol", "score rank doubtful focus[] twins[]"),
    "DERIVED_FROM": ("Code", "Symbol", ""),
    "HAS_REPOSITORY": ("Paper", "Repository", ""),
    "DEFINES": ("Repository", "Symbol", ""),
    "CITES": ("Paper", "Paper|CitedWork", ""),
    "SAME_CONCEPT": ("Technique", "Technique", "score how"),
    "REPORTS": ("Paper", "Finding", ""),
    "RELEASES": ("Paper", "Resource", ""),
    "ABLATED_IN": ("Technique", "Ablation", ""),
}
"""For each edge type, the labels of both ends and the properties. A row's values are the ids of both ends, followed by
the properties. `|` separates alternative labels."""

LONGEST_KEY = 1500
"""Maximum length of a key in characters. Neo4j cannot index strings larger than 8 KB."""


class Row(NamedTuple):
    """A node or edge of the property graph. `table` is the label of a node or the type of an edge. `to` is the label of
    an edge's target, if the type allows several labels."""

    table: str
    values: tuple[Value, ...]
    to: str = ""


def paper_rows(bundle: PaperBundle, entries: Sequence[Entry]) -> Iterator[Row]:
    """Yields rows for a paper, its visible techniques, and all its repositories and symbols. Edges come after the nodes
    that they connect. Repositories and symbols may be shared with other papers."""
    paper = bundle.paper
    own = key(paper.id)
    yield Row(
        "Paper",
        (
            own, encodable(paper.title), encodable(paper.abstract), texts(paper.authors), paper.year,
            _text(paper.arxiv_id), _text(paper.arxiv_version), _text(paper.domain), _text(paper.subfield),
            None if paper.references is None else nested([r.model_dump() for r in paper.references]),
            texts(paper.code_files), encodable(paper.code_overview), paper.origin, paper.state,
            texts(paper.incomplete), _text(paper.source_sha256), _text(paper.pipeline_version),
            _text(paper.built_at), paper.cost_usd,
        ),
    )  # fmt: skip
    for entry in entries:
        yield from _technique(own, entry)
    visible = {entry.technique.id for entry in entries}
    visible_code = {entry.code.id for entry in entries if entry.code is not None}
    for repository in bundle.repositories:
        yield Row(
            "Repository",
            (
                key(repository.id), encodable(repository.url), _text(repository.commit), _text(repository.license),
                repository.stars, repository.archived, _text(repository.default_branch), repository.is_official,
            ),
        )  # fmt: skip
        yield Row("HAS_REPOSITORY", (own, key(repository.id)))
    for symbol in bundle.symbols:
        yield Row(
            "Symbol",
            (
                key(symbol.id), symbol.kind, encodable(symbol.path), encodable(symbol.qualified_name),
                symbol.start_line, symbol.end_line, encodable(symbol.signature),
            ),
        )  # fmt: skip
        yield Row("DEFINES", (key(symbol.repository), key(symbol.id)))
    for place in bundle.locations:
        if place.technique in visible:
            focus = tuple(encodable(f"{at.start_line}-{at.end_line}: {at.why}".rstrip(": ")) for at in place.focus)
            yield Row(
                "LOCATED_AT",
                (
                    key(place.technique), key(place.symbol), place.score, place.rank, place.doubtful, focus,
                    tuple(map(key, place.twins)),
                ),
            )  # fmt: skip
    for source in bundle.derivations:
        if source.code in visible_code:
            yield Row("DERIVED_FROM", (key(source.code), key(source.symbol)))
    for finding in bundle.findings:
        yield Row("Finding", (key(finding.id), encodable(finding.name), _text(finding.description)))
        yield Row("REPORTS", (own, key(finding.id)))
    for resource in bundle.resources:
        yield Row("Resource", (key(resource.id), encodable(resource.name), _text(resource.description)))
        yield Row("RELEASES", (own, key(resource.id)))


def ablation_rows(ablation: Ablation) -> Iterator[Row]:
    """Yields a row for a measurement, and one for the edge from its technique."""
    own, technique = key(ablation.id), key(ablation.technique)
    yield Row(
        "Ablation",
        (
            own, technique, encodable(ablation.metric), ablation.direction, ablation.baseline, ablation.value,
            ablation.change, ablation.low, ablation.high, ablation.seeds, ablation.kind,
            encodable(ablation.description), encodable(ablation.diff), encodable(ablation.commit),
            encodable(ablation.command), ablation.measured_at,
        ),
    )  # fmt: skip
    yield Row("ABLATED_IN", (technique, own))


def citation_rows(works: Iterable[Work], edges: Iterable[tuple[str, str]]) -> Iterator[Row]:
    """Yields rows for cited works that are not in the graph, followed by the citations (`works_and_citations`)."""
    outside = set()
    for work in works:
        outside.add(work.id)
        yield Row("CitedWork", (key(work.id), encodable(work.title), work.year, _text(work.arxiv_id)))
    for citing, cited in edges:
        yield Row("CITES", (key(citing), key(cited)), "CitedWork" if cited in outside else "Paper")


def same_concept_row(first: str, second: str, score: float, how: str) -> Row:
    """Returns the row for an edge between two techniques. The lower id must come first."""
    return Row("SAME_CONCEPT", (key(first), key(second), score, how))


def key(node_id: str) -> str:
    """Converts an id to a form that the engines can store and index. Distinct ids remain distinct, even if they differ
    only in characters that the engines cannot store."""
    clean = encodable(node_id)
    if len(clean) > LONGEST_KEY:
        clean = clean[:LONGEST_KEY]
    elif clean == node_id:
        return node_id
    return f"{clean}~{hashlib.sha256(node_id.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _technique(paper: str, entry: Entry) -> Iterator[Row]:
    technique, code = entry.technique, entry.code
    own = key(technique.id)
    yield Row(
        "Technique",
        (
            own, encodable(technique.name), texts(technique.aliases), technique.kind, encodable(technique.definition),
            technique.depth, technique.weight, technique.grounding,
            nested([e.model_dump() for e in technique.excerpts]),
        ),
    )  # fmt: skip
    if technique.parent is None:
        yield Row("PROPOSES", (paper, own, entry.order))
    else:
        yield Row("HAS_COMPONENT", (key(technique.parent), own, entry.order))
    if code is not None:
        stated = code.evidence[-1].level if code.level is Level.CLAIMED and code.evidence else code.level
        claimed = stated.value if code.level is Level.CLAIMED else None
        attested_by = tuple(key for key, level in vouchers(code) if level.rank >= stated.rank)
        yield Row(
            "Code",
            (
                key(code.id), encodable(technique.name), encodable(code.implementation), encodable(code.test),
                encodable(code.documentation), encodable(code.language), texts(code.packages), code.level.value,
                claimed, attested_by,
                nested([e.model_dump() for e in code.evidence]), nested(code.claims),
            ),
        )  # fmt: skip
        yield Row("IMPLEMENTED_BY", (own, key(code.id)))


def _text(text: str | None) -> str | None:
    return None if text is None else encodable(text)


def texts(several: Iterable[str]) -> tuple[str, ...]:
    """Converts a list to a form that both engines can store. Empty strings are dropped, because LadybugDB also drops
    empty strings."""
    return tuple(encodable(text) for text in several if text)


def nested(value: object) -> str:
    """Converts a nested value to a JSON string that the engines can store."""
    return encodable(json.dumps(value, ensure_ascii=False))
