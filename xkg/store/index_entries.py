"""The published techniques of a bundle, and the texts that they are found by."""

from collections.abc import Iterator
from dataclasses import dataclass

from xkg.embeddings.base import Text
from xkg.model import Code, PaperBundle, Technique

VECTOR_TEXT_CHARACTERS = 2000
"""More than the 256 word pieces that the default model reads; what lies beyond would only be cut there."""


@dataclass(frozen=True)
class Entry:
    """A visible technique: `order` counts among its visible siblings from 0, `path` are names from the top down."""

    technique: Technique
    order: int
    path: tuple[str, ...]
    code: Code | None
    paper_title: str = ""


def entries(bundle: PaperBundle) -> Iterator[Entry]:
    """The techniques that are not hidden, nor under a hidden one, in preorder."""
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


def vector_text(entry: Entry) -> Text:
    """The text that a technique's vector is made from: the most informative first, since models cut the end. The names
    of its ancestors are its context. Identifiers of its code are for text search alone: beside the definition they lost
    as many queries as they won."""
    technique = entry.technique
    called = ". ".join(filter(None, (encodable(technique.name), encodable(", ".join(technique.aliases)))))
    above = encodable(" > ".join(entry.path[:-1]))
    documentation = entry.code.documentation if entry.code else ""
    parts = [called, above, encodable(technique.definition), encodable(documentation)]
    start = len(f"{called}. ") if called else 0
    return Text(". ".join(part for part in parts if part)[:VECTOR_TEXT_CHARACTERS], start, start + len(above))


def encodable(text: str) -> str:
    """`text` as UTF-8 can carry it, lone surrogates replaced by U+FFFD, and without NUL."""
    return text.replace("\0", "\ufffd").encode("utf-8", "surrogatepass").decode("utf-8", "replace")
