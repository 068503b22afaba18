"""Returns a bundle's visible and searchable techniques, and the texts to search."""

from collections.abc import Iterator
from dataclasses import dataclass

from xkg.embeddings.base import Text
from xkg.model import Code, PaperBundle, Technique

VECTOR_TEXT_CHARACTERS = 2000
"""Maximum length of a text. This exceeds 256 word pieces, the limit of the default model. The model ignores the rest of
a longer text."""


PART_OF_HIDDEN = "it is part of a hidden technique"


@dataclass(frozen=True)
class Entry:
    """A technique to be indexed. `order` is the technique's position among its visible siblings, starting at 0, and
    `path` lists the names from the top down. Hidden techniques have no code here, even if code was built for them."""

    technique: Technique
    order: int
    path: tuple[str, ...]
    code: Code | None
    paper_title: str = ""


def entries(bundle: PaperBundle) -> Iterator[Entry]:
    """Yields the visible techniques in preorder. A technique is visible if neither it nor any technique above it is
    hidden."""
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
    """Returns the hidden techniques and all techniques below them, in preorder, with the reason why each technique is
    hidden."""
    found: dict[str, Technique] = {}
    for technique in bundle.techniques:
        if technique.hidden is not None or technique.parent in found:
            reason = technique.hidden or PART_OF_HIDDEN
            found[technique.id] = technique.model_copy(update={"hidden": reason})
    return list(found.values())


def searched_entries(bundle: PaperBundle) -> list[Entry]:
    """Returns the visible techniques in preorder, followed by the hidden ones. Hidden techniques are searchable so that
    an answer can explain why they have no code."""
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
    """Returns the text for a technique's vector. The most informative part comes first, because models cut off the end.
    The names of its ancestors provide context. Identifiers from the code are only in the text index. Adding identifiers
    to this text improved the results for as many queries as it made worse."""
    technique = entry.technique
    called = ". ".join(filter(None, (encodable(technique.name), encodable(", ".join(technique.aliases)))))
    above = encodable(" > ".join(entry.path[:-1]))
    documentation = entry.code.documentation if entry.code else ""
    parts = [called, above, encodable(technique.definition), encodable(documentation)]
    start = len(f"{called}. ") if called else 0
    return Text(". ".join(part for part in parts if part)[:VECTOR_TEXT_CHARACTERS], start, start + len(above))


def encodable(text: str) -> str:
    """Makes a text encodable as UTF-8 by replacing lone surrogates and NUL with U+FFFD."""
    return text.replace("\0", "\ufffd").encode("utf-8", "surrogatepass").decode("utf-8", "replace")
