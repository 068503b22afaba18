"""Extracts a paper's technique tree from its structure, without a language model.

The names of techniques come from method headings, algorithm captions, and sentences that propose, name or define
something. `evidence` determines whether the paper actually describes a named technique. The root is the paper's own
method. The components keep the paper's order and nesting. A technique that appears as a heading, caption, term and
abbreviation is still a single node."""

from collections.abc import Iterator, Sequence

from xkg.build.paper.document import Document
from xkg.build.techniques import claims
from xkg.build.techniques.algorithms import add_algorithms, add_definitions
from xkg.build.techniques.definitions import read
from xkg.build.techniques.headings import add_headings
from xkg.build.techniques.own_names import add_method_name
from xkg.build.techniques.terms import add_abbreviated, add_terms
from xkg.build.techniques.tree import Node, Tree
from xkg.model import Finding, Resource, Technique, unique_slugs
from xkg.value import Value


class Extraction(Value):
    """The techniques, findings and resources in a paper. `techniques` are in preorder, so parents come before their
    components, and siblings keep the paper's order. `subfield` is the arXiv category that a model chose."""

    techniques: tuple[Technique, ...] = ()
    findings: tuple[Finding, ...] = ()
    resources: tuple[Resource, ...] = ()
    subfield: str | None = None


def _leaves(node: Node) -> int:
    return sum(_leaves(c) for c in node.children) or 1


def freeze(nodes: Sequence[Node], paper_id: str, parent: Technique | None = None) -> Iterator[Technique]:
    """Yields the techniques in a paper's trees in preorder, with ids, depths and weights. The weights of siblings sum
    to 1."""
    total = sum(_leaves(n) for n in nodes)
    prefix = f"{paper_id}#" if parent is None else f"{parent.id}/"
    for node, slug in zip(nodes, unique_slugs(n.name for n in nodes), strict=True):
        technique = Technique(
            id=f"{prefix}{slug}",
            name=node.name,
            parent=parent.id if parent is not None else None,
            aliases=tuple(dict.fromkeys(a for a in node.aliases if a != node.name)),
            kind=node.kind,
            definition=node.definition,
            depth=0 if parent is None else parent.depth + 1,
            weight=_leaves(node) / total,
            excerpts=node.excerpts,
            hidden=node.doubt,
        )
        yield technique
        yield from freeze(node.children, paper_id, technique)


def extract(document: Document, paper_id: str) -> Extraction:
    """Extracts the techniques, findings and resources from a paper. If a paper has no named method of its own, it has
    several roots. An empty paper has no root."""
    tree = Tree(*read(document))
    for add in (add_headings, add_algorithms, add_definitions, add_terms, add_abbreviated):
        add(tree)
    tops = tree.finish()
    add_method_name(tree)
    for top in tops:
        if top is tree.root or top.children:
            top.kind = "methodology"
    return Extraction(
        techniques=tuple(freeze(tops, paper_id)),
        findings=claims.findings(tree.reader, tree.proposal.names if tree.proposal else (), paper_id),
        resources=claims.resources(tree.reader, paper_id),
    )
