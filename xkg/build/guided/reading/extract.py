"""Extracts a paper's technique tree, findings and resources with a single question to a language model. This is the
first stage. Its definitions are complete, so later stages do not read the paper again."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field

from xkg.build.code.codebase import Codebase
from xkg.build.guided.definition_statements import statements_of
from xkg.build.guided.draft import prompt
from xkg.build.guided.reading.definition_check import foreign_numbers, mangled, pointer
from xkg.build.guided.reading.paper_text import paper_text
from xkg.build.guided.reading.passages import Passages, read_passages
from xkg.build.guided.reading.public_code import PublicCode, public_code
from xkg.build.paper.document import Document
from xkg.build.techniques import claims
from xkg.build.techniques.extract import Extraction, freeze
from xkg.build.techniques.names import words
from xkg.build.techniques.tree import MAX_TECHNIQUES, Node
from xkg.build.techniques.word_lists import LITTLE, SAME_KIND
from xkg.llm.client import AnswerType, Ask
from xkg.model import Finding, Resource, Technique, unique_slugs

_CATEGORY = re.compile(r"[a-z]{2,8}(?:-[a-z]{2,8})?(?:\.[A-Za-z-]{2,16})?")  # an arXiv category
_MOST_FAULTS = 12  # in one reply to the model
_LONGEST = 2_500  # characters in a definition
_LONGEST_REASON = 200
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


class Component(AnswerType):
    name: str
    type: Literal["methodology", "technique", "outside", "finding", "resource"]
    parent: str | None
    aliases: list[str]
    definition: str
    passages: list[int]
    code: list[int]

    @property
    def is_technique(self) -> bool:
        return self.type in ("methodology", "technique")


class PaperAnswer(AnswerType):
    components: tuple[Component, ...]
    subfield: str = ""


class GuidedExtraction(Extraction):
    """The techniques that a model finds in a paper. `outside` lists procedures outside the paper's method, which are
    hidden for a recorded reason. `places` maps each technique to the ids of functions and classes that implement all or
    part of it. `nothing_in` lists the ids of the remaining code that was shown."""

    outside: tuple[Technique, ...] = ()
    places: Mapping[str, tuple[str, ...]] = Field(default={})
    nothing_in: tuple[str, ...] = ()


def extract_with_model(
    document: Document, paper_id: str, ask: Ask, window: int, codebase: Codebase | None = None
) -> GuidedExtraction:
    """Returns the techniques, findings and resources in a paper. Asks one question, which takes at most `window` tokens
    including the answer. Excerpts are the passages that the answer cites.

    If a definition is refused, drops any sentence that is still faulty in the next answer. Raises the same errors as
    `ask`."""
    passages = read_passages(document)
    code = public_code(codebase) if codebase is not None else []
    refused: list[str] = []

    def check(answer: PaperAnswer) -> str | None:
        found = complaint(answer, passages, is_last=bool(refused))
        refused.extend(filter(None, [found]))
        return found

    inputs = {
        "paper": paper_text(passages, window),
        "code": "\n".join(f"{n}. {each.text}" for n, each in enumerate(code, start=1)),
    }
    answer = ask(prompt("extract"), PaperAnswer, inputs, about=document.title, check=check)
    kept = [c.model_copy(update={"definition": _kept(c.definition, document)}) for c in answer.components]
    answer = answer.model_copy(update={"components": tuple(kept)})
    tops = _tree(answer, passages)
    nodes = [node for top in tops for node in top.walk()]
    techniques = tuple(freeze(tops, paper_id))
    used = {
        t.id: symbols
        for t, node in zip(techniques, nodes, strict=True)
        if (symbols := _symbols(answer.components[node.start], code))
    }
    outside = [c for c in answer.components if c.type == "outside" and words(c.name) and c.definition]
    reached = {symbol for c in answer.components for symbol in _symbols(c, code)}
    return GuidedExtraction(
        subfield=answer.subfield if _CATEGORY.fullmatch(answer.subfield) else None,
        techniques=techniques,
        findings=tuple(
            Finding(id=f"{paper_id}#finding/{n}", name=c.name.strip(), description=c.definition or None)
            for n, c in enumerate((c for c in answer.components if c.type == "finding"), start=1)
        ),
        resources=_resources(answer, passages, paper_id),
        outside=tuple(_hidden(outside, techniques, passages, code)),
        places=used,
        nothing_in=tuple(each.symbol for each in code if each.symbol not in reached),
    )


def complaint(answer: PaperAnswer, passages: Passages, *, is_last: bool = False) -> str | None:
    """Returns the definite errors in an answer, worded for the model, or None. If `is_last` is True, a faulty sentence
    is an error only in a definition without any other sentences."""
    techniques = [c for c in answer.components if c.is_technique]
    if not techniques:
        return "there is no methodology and no technique: list what the paper proposes and its components"
    if len(techniques) > MAX_TECHNIQUES:
        return f"{len(techniques)} techniques are too many: keep the core components, at most 15"
    faults: list[str] = []
    listed = Counter(_folded(_split(c)[0]) for c in techniques)
    for c in answer.components:
        if not words(c.name):
            faults.append("a component has no name")
        elif not c.definition.strip():
            faults.append(f"{c.name!r} has no definition")
        elif not (is_last and _kept(c.definition, passages.document)):
            faults += _wording(c, passages.document)
        if not c.is_technique:
            continue
        if listed[_folded(_split(c)[0])] > 1:
            faults.append(
                f"{c.name!r} is listed twice: list it once, under the closest component that contains all its uses"
            )
        if _IN_PAPER.match(c.name.strip()) or _KINDS.issuperset(words(c.name)):
            faults.append(f"the name {c.name!r} means nothing outside this paper: use its academic name")
        if place := mangled(f"{c.name} {c.definition}"):
            faults.append(f"{c.name!r} lost a backslash before {place!r}: in JSON, write each backslash twice")
        if not any(n in passages for n in c.passages):
            faults.append(
                f"{c.name!r} cites no passage: give the numbers of the passages that introduce it, or leave it out"
            )
    faults += _faults_of_tree(answer.components)
    faults += _foreign_addresses(answer, passages.document)
    return "; ".join(list(dict.fromkeys(faults))[:_MOST_FAULTS]) or None


def _wording(component: Component, document: Document) -> Iterator[str]:
    name, text = component.name, component.definition
    if odd := foreign_numbers(text, document):
        yield f"{', '.join(odd)} in the definition of {name!r} does not occur in the paper: leave it out"
    if not component.is_technique:
        return
    if len(text) > _LONGEST:
        yield f"the definition of {name!r} is too long: at most 8 sentences"
    if place := pointer(text):
        yield f"the definition of {name!r} refers to {place!r}: restate what it says instead"


def _kept(definition: str, document: Document) -> str:
    """Returns the sentences in a definition that neither refer to other text nor contain foreign numbers."""
    if not (pointer(definition) or foreign_numbers(definition, document)):
        return definition.strip()
    return " ".join(s for s in statements_of(definition) if not (pointer(s) or foreign_numbers(s, document)))


def _symbols(component: Component, code: Sequence[PublicCode]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(code[n - 1].symbol for n in component.code if 0 < n <= len(code)))


def _hidden(
    outside: Iterable[Component], techniques: Sequence[Technique], passages: Passages, code: Sequence[PublicCode]
) -> Iterator[Technique]:
    """Yields procedures outside the method as hidden techniques below the first technique, with their places in the
    repository. Omits duplicates."""
    top = techniques[0]
    listed = {_folded(name) for t in techniques for name in (t.name, *t.aliases)}
    new = {name: c for c in outside if (name := _folded(c.name)) not in listed}
    siblings = [t.id.removeprefix(f"{top.id}/") for t in techniques if t.parent == top.id]
    slugs = unique_slugs([*siblings, *(c.name for c in new.values())])[len(siblings) :]
    for c, slug in zip(new.values(), slugs, strict=True):
        places = ", ".join(symbol.partition(":")[2].partition(":")[2] for symbol in _symbols(c, code))
        yield Technique(
            id=f"{top.id}/{slug}",
            name=" ".join(c.name.split()),
            parent=top.id,
            depth=top.depth + 1,
            weight=0.0,
            excerpts=passages.excerpts(sorted({n for n in c.passages if n in passages})),
            hidden=f"not part of the paper's method: {' '.join(c.definition.split())[:_LONGEST_REASON]}"
            + (f" (in the repository: {places})" if places else ""),
        )


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
    """Returns the index of a component's parent, found by name or else by alias."""
    if not component.parent:
        return None
    parent = _folded(component.parent)
    for names in (lambda c: [c.name], lambda c: [*_split(c)[1], _split(c)[0]]):
        for i, c in enumerate(components):
            if c.is_technique and parent in map(_folded, names(c)):
                return i
    return None


def _foreign_addresses(answer: PaperAnswer, document: Document) -> Iterator[str]:
    """Yields resource addresses that do not occur in the paper."""
    text = re.sub(r"[\s\\{}]", "", document.text).casefold()
    for c in answer.components:
        for match in _ADDRESS.finditer(f"{c.name} {c.definition}" if c.type == "resource" else ""):
            if _bare(match[0]) not in text:
                yield f"the address {match[0]!r} is not in the paper: give addresses exactly as they appear in it"


def _bare(address: str) -> str:
    return re.sub(r"^(?:https?://)?(?:www\.)?|(?<![.,;:/])[.,;:/]++$|\\", "", address.casefold())


def _folded(name: str) -> tuple[str, ...]:
    return tuple(words(name))


def _split(component: Component) -> tuple[str, list[str]]:
    """Returns a component's name and aliases. Splits "Long form (SHORT)" into a name and an alias."""
    name, aliases = " ".join(component.name.split()), list(component.aliases)
    match = re.fullmatch(r"(.{3,300}?)\s*+\(\s*([^()\s]{2,15})\s*\)", name)
    if match and sum(ch.isupper() for ch in match[2]) > 1:
        name = match[1]
        aliases.insert(0, match[2])
    return name, aliases


def _tree(answer: PaperAnswer, passages: Passages) -> list[Node]:
    """Returns the top level of the technique tree. Only top-level nodes can be methodologies."""
    nodes: dict[int, Node] = {}
    components = answer.components
    own = {_folded(_split(c)[0]) for c in components if c.is_technique}
    for i, c in enumerate(components):
        if not c.is_technique:
            continue
        name, aliases = _split(c)
        unique_aliases = [" ".join(a.split()) for a in aliases if words(a) and _folded(a) not in own]
        excerpts = passages.excerpts(sorted({n for n in c.passages if n in passages}))
        nodes[i] = Node(name, i, 1.0, list(dict.fromkeys(unique_aliases)), definition=c.definition, excerpts=excerpts)
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
    """Returns the resources that the model lists, plus the addresses of any releases that it omitted."""
    rows = [(c.name.strip(), c.definition or None) for c in answer.components if c.type == "resource"]
    listed_text = " ".join(f"{name} {text}" for name, text in rows).casefold()
    for found in claims.resources(passages.reader, paper_id):
        address = _ADDRESS.search(found.description or "")
        if address and _bare(address[0]) not in listed_text:
            rows.append((found.name, found.description))
    return tuple(
        Resource(id=f"{paper_id}#resource/{n}", name=name, description=text)
        for n, (name, text) in enumerate(rows, start=1)
    )
