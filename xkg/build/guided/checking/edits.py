"""Applies a model's edits to a draft. To keep answers short, an edit contains only the text to replace and its
replacement."""

from collections.abc import Sequence
from typing import Literal

from xkg.build.guided.checking.components import with_called_components
from xkg.build.guided.draft import Draft
from xkg.llm.client import AnswerType


# `search` is text that occurs exactly once in the file. If `search` is empty, `replace` is the whole new file. (This is
# a comment because an answer type's docstring would be sent with every question. The prompt already explains the
# fields.)
class Edit(AnswerType):
    file: Literal["implementation", "test", "documentation"]
    search: str
    replace: str


# `cause` is one sentence. `edits` is empty if no edit is possible or necessary.
class Repair(AnswerType):
    cause: str
    edits: tuple[Edit, ...]


class EditError(ValueError):
    """Raised if an edit does not fit the draft. The message is written for the model."""


def applied(draft: Draft, edits: Sequence[Edit]) -> Draft:
    """Applies the edits in order. Returns the draft with the components that its module now calls, and drops the
    author's remarks if the module changes.

    Raises `EditError` if a search text does not occur exactly once."""
    texts = {"implementation": draft.implementation, "test": draft.test, "documentation": draft.documentation}
    for n, edit in enumerate(edits, 1):
        text = texts[edit.file]
        if not edit.search.strip():
            if not edit.replace.strip():
                raise EditError(f"edit {n} leaves the {edit.file} empty; give its whole new text, or text to search")
            texts[edit.file] = _ended(edit.replace)
            continue
        texts[edit.file] = _replaced(text, edit, n)
    texts["documentation"] = texts["documentation"].strip()
    update: dict[str, object] = {n: text if n == "documentation" else _ended(text) for n, text in texts.items()}
    if texts["implementation"] != draft.implementation:
        update["declared"] = ()
    return with_called_components(draft.model_copy(update=update))


def _replaced(text: str, edit: Edit, n: int) -> str:
    if text.count(edit.search) == 1:
        return text.replace(edit.search, edit.replace)
    # Models often omit trailing spaces.
    lines, searched = text.split("\n"), [line.rstrip() for line in edit.search.strip("\n").split("\n")]
    bare = [line.rstrip() for line in lines]
    places = [i for i in range(len(bare) - len(searched) + 1) if bare[i : i + len(searched)] == searched]
    if len(places) == 1:
        i = places[0]
        return "\n".join([*lines[:i], *edit.replace.strip("\n").split("\n"), *lines[i + len(searched) :]])
    first, found = " ".join(edit.search.strip().split("\n")[0].split())[:80], text.count(edit.search)
    if found:
        raise EditError(f"edit {n}: `{first}` occurs {found} times in the {edit.file}; search for more lines")
    raise EditError(
        f"edit {n}: `{first}` does not occur in the {edit.file}; copy the text to search exactly, with its indentation"
    )


def _ended(text: str) -> str:
    return text.rstrip() + "\n" if text.strip() else text
