"""Changes of a draft as a model gives them: exact text and what stands in its place, so that an answer costs what it
changes, not the whole file."""

from collections.abc import Sequence
from typing import Literal

from xkg.build.guided.draft import Draft
from xkg.llm.client import AnswerType


class Edit(AnswerType):
    """`search` is text of the file as it is, once in it; empty, `replace` is the whole new file."""

    file: Literal["implementation", "test"]
    search: str
    replace: str


class Repair(AnswerType):
    """`cause` in a sentence; no edits where nothing can or need be done."""

    cause: str
    edits: tuple[Edit, ...]


class EditError(ValueError):
    """An edit does not fit the draft; says so in words for the model."""


def applied(draft: Draft, edits: Sequence[Edit]) -> Draft:
    """The draft after the edits, in their order. Raises `EditError` where text does not occur, or more than once."""
    texts = {"implementation": draft.implementation, "test": draft.test}
    for n, edit in enumerate(edits, 1):
        text = texts[edit.file]
        if not edit.search.strip():
            if not edit.replace.strip():
                raise EditError(f"edit {n} leaves the {edit.file} empty; give its whole new text, or text to search")
            texts[edit.file] = _ended(edit.replace)
            continue
        texts[edit.file] = _replaced(text, edit, n)
    return draft.model_copy(update={name: _ended(text) for name, text in texts.items()})


def _replaced(text: str, edit: Edit, n: int) -> str:
    if text.count(edit.search) == 1:
        return text.replace(edit.search, edit.replace)
    # Blanks at the ends of lines are easily lost on the way.
    lines, wanted = text.split("\n"), [line.rstrip() for line in edit.search.strip("\n").split("\n")]
    bare = [line.rstrip() for line in lines]
    places = [i for i in range(len(bare) - len(wanted) + 1) if bare[i : i + len(wanted)] == wanted]
    if len(places) == 1:
        i = places[0]
        return "\n".join([*lines[:i], *edit.replace.strip("\n").split("\n"), *lines[i + len(wanted) :]])
    first = " ".join(edit.search.strip().split("\n")[0].split())[:80]
    times = text.count(edit.search)
    if times:
        at = [text[: _nth(text, edit.search, k)].count("\n") + 1 for k in range(min(times, 5))]
        where = ", ".join(map(str, at))
        raise EditError(
            f"edit {n}: `{first}` occurs {times} times in the {edit.file} (lines {where}); search for more lines"
        )
    raise EditError(
        f"edit {n}: `{first}` does not occur in the {edit.file}; copy the text to search exactly, with its indentation"
    )


def _nth(text: str, part: str, n: int) -> int:
    at = -1
    for _ in range(n + 1):
        at = text.find(part, at + 1)
    return at


def _ended(text: str) -> str:
    return text.rstrip() + "\n" if text.strip() else text
