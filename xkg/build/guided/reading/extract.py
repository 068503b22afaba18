"""Stage 1 with a language model: technique tree, findings and resources of a paper, in one question."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from xkg.build.guided.draft import prompt
from xkg.build.guided.reading.definition_check import foreign_numbers, mangled, pointer
from xkg.build.guided.reading.paper_answer import Component, PaperAnswer
from xkg.build.guided.reading.paper_text import paper_text
from xkg.build.guided.reading.passages import Passages, read_passages
from xkg.build.paper.document import Document
from xkg.build.techniques import claims
from xkg.build.techniques.extract import Extraction, freeze
from xkg.build.techniques.names import words
from xkg.build.techniques.tree import MAX_TECHNIQUES, Node
from xkg.build.techniques.word_lists import LITTLE, SAME_KIND
from xkg.llm.client import Ask
from xkg.model import Finding, Resource

_CATEGORY = re.compile(r"[a-z]{2,8}(?:-[a-z]{2,8})?(?:\.[A-Za-z-]{2,16})?")  # of arXiv
_MOST_FAULTS = 12  # in one reply to the model
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s,;)}\]>\"']+|\b(?:github|gitlab|huggingface)\.\w+/[^\s,;)}\]>\"']+")
_IN_PAPER = re.compile(
    r"(?:our|my|this|these|the (?:proposed|paper'?s|authors'?))\b|(?:step|stage|phase|part|module|component|section|"
    r"appendix|algorithm|eq|eqs|equation|figure|table|theorem|lemma|line)s?\.?\s*\(?(?:\d[\d.]*|[ivx]+|[a-z])\)?$",
    re.IGNORECASE,
)
_KINDS = (
    SAME_KIND
    | LITTLE
    | frozenset(
        "training learning inference testing encoder decoder update rule proposed overall main full new".split()
    )
)


def extract_with_model(document: Document, paper_id: str, ask: Ask, window: int) -> Extraction:
    """The techniques, findings and resources of a paper, from one question of at most `window` tokens including its
    answer. Excerpts are the passages that the answer cites. Raises the errors of `ask`."""
    passages = read_passages(document)
    answer = ask(
        prompt("extract"),
        PaperAnswer,
        {"paper": paper_text(passages, window)},
        about=document.title,
        check=lambda a: complaint(a, passages),
    )
    nodes = _tree(answer, passages)
    return Extraction(
        subfield=answer.subfield if _CATEGORY.fullmatch(answer.subfield) else None,
        techniques=tuple(freeze(nodes, paper_id)),
        findings=tuple(
            Finding(id=f"{paper_id}#finding/{n}", name=c.name.strip(), description=c.definition.strip() or None)
            for n, c in enumerate((c for c in answer.components if c.type == "finding"), start=1)
        ),
        resources=_resources(answer, passages, paper_id),
    )


def complaint(answer: PaperAnswer, passages: Passages) -> str | None:
    """The certain errors of an answer, in words for the model; None if there are none."""
    techniques = [c for c in answer.components if c.is_technique]
    if not techniques:
        return "there is no methodology and no technique: list what the paper proposes and what that consists of"
    if len(techniques) > MAX_TECHNIQUES:
        return f"{len(techniques)} techniques are too many: keep the core components, at most 15"
    faults: list[str] = []
    listed = Counter(_folded(_split(c)[0]) for c in techniques)
    for c in answer.components:
        if not words(c.name):
            faults.append("a component has no name")
        elif not c.definition.strip():
            faults.append(f"{c.name!r} has no definition")
        if not c.is_technique:
            continue
        if listed[_folded(_split(c)[0])] > 1:
            faults.append(f"{c.name!r} is listed twice: list it once, under the nearest component that holds its uses")
        if _IN_PAPER.match(c.name.strip()) or _KINDS.issuperset(words(c.name)):
            faults.append(f"the name {c.name!r} says nothing outside this paper: give it its academic name")
        if place := mangled(f"{c.name} {c.definition}"):
            faults.append(f"{c.name!r} lost a backslash before {place!r}: in JSON each is written twice")
        if place := pointer(c.definition):
            faults.append(f"the definition of {c.name!r} points to {place!r}: say it in the definition's own words")
        if not any(n in passages for n in c.passages):
            faults.append(f"{c.name!r} names no passage: give the numbers of those that introduce it, or leave it out")
    faults += _faults_of_tree(answer.components)
    faults += _foreign(answer, passages.document)
    return "; ".join(list(dict.fromkeys(faults))[:_MOST_FAULTS]) or None


def _faults_of_tree(components: Sequence[Component]) -> list[str]:
    parents: dict[int, int | None] = {}
    faults = []
    for i, c in enumerate(components):
        if not c.is_technique:
            continue
        parents[i] = parent = _parent(c, components)
        if c.parent and parent is None:
            faults.append(
                f"the parent {c.parent!r} of {c.name!r} is not a methodology or technique in the list: give the exact "
                "name of one, or null"
            )
    for i in parents:
        path = [i]
        while (parent := parents.get(path[-1])) is not None and parent not in path:
            path.append(parent)
        if parent == i == min(path):
            names = " in ".join(repr(components[n].name) for n in [*path, i])
            faults.append(f"{names} is a cycle: a component cannot be part of its own part")
    return faults


def _parent(component: Component, components: Sequence[Component]) -> int | None:
    """The index of a component's parent, found by name or else by alias."""
    if not component.parent:
        return None
    parent = _folded(component.parent)
    for names in (lambda c: [c.name], lambda c: [*_split(c)[1], _split(c)[0]]):
        for i, c in enumerate(components):
            if c.is_technique and parent in map(_folded, names(c)):
                return i
    return None


def _foreign(answer: PaperAnswer, document: Document) -> Iterator[str]:
    """Numbers and resource addresses that do not occur in the paper."""
    text = re.sub(r"[\s\\{}]", "", document.text).casefold()
    for c in answer.components:
        for match in _ADDRESS.finditer(f"{c.name} {c.definition}" if c.type == "resource" else ""):
            if _bare(match[0]) not in text:
                yield f"the address {match[0]!r} is not in the paper: give addresses as the paper has them"
    for c in answer.components:
        if odd := foreign_numbers(c.definition, document):
            yield f"{', '.join(odd)} in the definition of {c.name!r} is nowhere in the paper: leave it out"


def _bare(address: str) -> str:
    return re.sub(r"^(?:https?://)?(?:www\.)?|(?<![.,;:/])[.,;:/]++$|\\", "", address.casefold())


def _folded(name: str) -> tuple[str, ...]:
    return tuple(words(name))


def _split(component: Component) -> tuple[str, list[str]]:
    """Name and aliases of a component; "Long form (SHORT)" is split into both."""
    name, aliases = " ".join(component.name.split()), list(component.aliases)
    match = re.fullmatch(r"(.{3,300}?)\s*+\(\s*([^()\s]{2,15})\s*\)", name)
    if match and sum(ch.isupper() for ch in match[2]) > 1:
        name = match[1]
        aliases.insert(0, match[2])
    return name, aliases


def _tree(answer: PaperAnswer, passages: Passages) -> list[Node]:
    """The top level of the hierarchy. Only a top node can be a methodology."""
    nodes: dict[int, Node] = {}
    components = answer.components
    own = {_folded(_split(c)[0]) for c in components if c.is_technique}
    for i, c in enumerate(components):
        if not c.is_technique:
            continue
        name, aliases = _split(c)
        unique_aliases = [" ".join(a.split()) for a in aliases if words(a) and _folded(a) not in own]
        excerpts = passages.excerpts(sorted({n for n in c.passages if n in passages}))
        nodes[i] = Node(
            name, i, 1.0, list(dict.fromkeys(unique_aliases)), definition=c.definition.strip(), excerpts=excerpts
        )
        nodes[i].kind = "methodology" if c.type == "methodology" and not c.parent else "technique"
    tops = []
    for i, node in nodes.items():
        parent = _parent(components[i], components)
        if parent is None:
            tops.append(node)
        else:
            node.parent = nodes[parent]
            nodes[parent].children.append(node)
    return tops


def _resources(answer: PaperAnswer, passages: Passages, paper_id: str) -> tuple[Resource, ...]:
    """The resources that the model lists, and the addresses of releases that the model omits."""
    rows = [(c.name.strip(), c.definition.strip() or None) for c in answer.components if c.type == "resource"]
    listed_text = " ".join(f"{name} {text}" for name, text in rows).casefold()
    for found in claims.resources(passages.reader, paper_id):
        address = _ADDRESS.search(found.description or "")
        if address and _bare(address[0]) not in listed_text:
            rows.append((found.name, found.description))
    return tuple(
        Resource(id=f"{paper_id}#resource/{n}", name=name, description=text)
        for n, (name, text) in enumerate(rows, start=1)
    )
