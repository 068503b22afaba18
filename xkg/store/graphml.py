"""Exports papers as a GraphML file (http://graphml.graphdrawing.org/specification.html) for Gephi, yEd, Cytoscape and
networkx. The file contains the nodes, edges and properties defined in `xkg.store.rows`. GraphML has no lists, so lists
are stored as JSON strings."""

import re
from collections.abc import Iterable, Iterator
from itertools import count
from xml.sax.saxutils import escape, quoteattr

from xkg.model import Ablation, PaperBundle
from xkg.store.concepts.citations import works_and_citations
from xkg.store.graph_store import Link
from xkg.store.index_entries import entries
from xkg.store.rows import (
    EDGES,
    NODES,
    Row,
    Value,
    ablation_rows,
    citation_rows,
    nested,
    paper_rows,
    same_concept_row,
)

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'


def graphml(bundles: Iterable[PaperBundle], links: Iterable[Link], ablations: Iterable[Ablation]) -> Iterator[str]:
    """Yields the file in chunks. The file contains the papers' visible techniques, all nodes connected to them,
    citations, and related concepts and measurements."""
    yield _HEAD
    # GraphML must declare all properties with their types first, but types are only known after all rows are read.
    kinds: dict[tuple[str, str], str] = {}
    papers, seen, body = [], set[str](), list[str]()
    edge_number = count()

    def add(rows: Iterable[Row]) -> None:
        for row in rows:
            if row.table in NODES:
                names = NODES[row.table].replace("[]", "").split()
                if (key := f"{row.table} {row.values[0]}") not in seen:  # papers can share repositories and symbols
                    seen.add(key)
                    properties = [("label", row.table), *zip(names, row.values, strict=True)]
                    body.append(f"<node id={_attribute(key)}>{_data('node', properties, kinds)}</node>\n")
                continue
            start, end, names_of_edge = EDGES[row.table]
            ends = f"{start} {row.values[0]}", f"{row.to or end} {row.values[1]}"
            if all(each in seen for each in ends) and (edge := f"{row.table} {ends}") not in seen:
                seen.add(edge)
                properties = [("label", row.table)]
                properties += zip(names_of_edge.replace("[]", "").split(), row.values[2:], strict=True)
                source, target = map(_attribute, ends)
                data = _data("edge", properties, kinds)
                body.append(f'<edge id="e{next(edge_number)}" source={source} target={target}>{data}</edge>\n')

    for bundle in bundles:
        papers.append(bundle.paper)
        add(paper_rows(bundle, list(entries(bundle))))
    add(citation_rows(*works_and_citations(papers)))
    add(same_concept_row(link.first, link.second, link.score, link.how) for link in links if link.how != "open")
    for ablation in ablations:
        add(ablation_rows(ablation))
    for (of, name), kind in sorted(kinds.items()):
        yield f'<key id="{of}_{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>\n'
    yield '<graph edgedefault="directed">\n'
    yield from body
    yield "</graph>\n</graphml>\n"


def _data(of: str, properties: Iterable[tuple[str, Value]], kinds: dict[tuple[str, str], str]) -> str:
    found = []
    for name, value in properties:
        if value is None:
            continue
        text = nested(value) if isinstance(value, tuple) else str(value)
        text = text.lower() if isinstance(value, bool) else text
        kind = _kind(value)
        known = kinds.setdefault((of, name), kind)
        if known != kind:
            kinds[of, name] = "double" if {known, kind} == {"long", "double"} else "string"
        found.append(f'<data key="{of}_{name}">{escape(_xml(text))}</data>')
    return "".join(found)


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "long" if isinstance(value, int) else "double" if isinstance(value, float) else "string"


def _attribute(text: str) -> str:
    return quoteattr(_xml(text))


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
