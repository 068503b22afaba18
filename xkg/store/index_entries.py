"""A bundle's visible and searchable techniques, and the texts that searches match."""

from collections.abc import Iterator
from dataclasses import dataclass

from xkg.embeddings.base import Text
from xkg.model import Code, PaperBundle, Technique

VECTOR_TEXT_CHARACTERS = 2000
"""Longer than the 256 word pieces that the default model reads; the model ignores the rest."""


PART_OF_HIDDEN = "it is part of a hidden one"


@dataclass(frozen=True)
class Entry:
    """A technique. `order` is its position among its visible siblings, from 0, and `path` lists the names from the top
    down. Hidden techniques have no code here, even if code was built for them."""

    technique: Technique
    order: int
    path: tuple[str, ...]
    code: Code | None
    paper_title: str = ""


def entries(bundle: PaperBundle) -> Iterator[Entry]:
    """The visible techniques (neither hidden nor under a hidden one), in preorder."""
    code = {c.technique: c for c in bundle.code}
    paths: dict[str | None, tuple[str, ...]] = {None: ()}
    siblings: dict[str | None, int] = {}
    for technique in bundle.techniques:
        if technique.hidden is not None or technique.parent not in paths:
            continue
        path = (*paths[technique.parent], technique.name)
        paths[technique.id] = path
        order = siblings.get(technique.parent, 0)
        siblings[technique.parent] = order + 1
        yield Entry(technique, order, path, code.get(technique.id), bundle.paper.title)


def hidden_techniques(bundle: PaperBundle) -> list[Technique]:
    """The hidden techniques and the techniques under them, in preorder, each with the reason why it is hidden."""
    found: dict[str, Technique] = {}
    for technique in bundle.techniques:
        if technique.hidden is not None or technique.parent in found:
            reason = technique.hidden or PART_OF_HIDDEN
            found[technique.id] = technique.model_copy(update={"hidden": reason})
    return list(found.values())


def searched_entries(bundle: PaperBundle) -> list[Entry]:
    """The visible techniques in preorder, then the hidden ones, so that a search for a hidden technique can explain why
    it has no code."""
    by_id = {technique.id: technique for technique in bundle.techniques}

    def path(technique: Technique) -> tuple[str, ...]:
        names = [technique.name]
        while technique.parent is not None:
            technique = by_id[technique.parent]
            names.append(technique.name)
        return tuple(reversed(names))

    hidden = hidden_techniques(bundle)
    return [*entries(bundle), *(Entry(each, 0, path(each), None, bundle.paper.title) for each in hidden)]


def vector_text(entry: Entry) -> Text:
    """The text that a technique's vector is computed from, with the most informative part first, since models cut off
    the end. The names of its ancestors provide context. Identifiers from its code are only in the text index, since
    adding them to the vector text broke as many queries as it fixed."""
    technique = entry.technique
    called = ". ".join(filter(None, (encodable(technique.name), encodable(", ".join(technique.aliases)))))
    above = encodable(" > ".join(entry.path[:-1]))
    documentation = entry.code.documentation if entry.code else ""
    parts = [called, above, encodable(technique.definition), encodable(documentation)]
    start = len(f"{called}. ") if called else 0
    return Text(". ".join(part for part in parts if part)[:VECTOR_TEXT_CHARACTERS], start, start + len(above))


def encodable(text: str) -> str:
    """`text` in a form that UTF-8 can encode: lone surrogates become U+FFFD, and NUL is removed."""
    return text.replace("\0", "\ufffd").encode("utf-8", "surrogatepass").decode("utf-8", "replace")
