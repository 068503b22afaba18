"""Renders search candidates as text for the verifier's question."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xkg.serve.answers.types import SearchRow, short
from xkg.serve.search.search import relation
from xkg.serve.verification.code_excerpt import excerpt, heads, terms
from xkg.store.graph_store import TechniqueView
from xkg.store.indexes.text import query_terms

IN_FULL = 6
"""Number of candidates described in full, including their code. All other candidates are described briefly; for one in
twenty paraphrases, the right answer is among these."""

LETTERS = "abcdefgh"

_DEFINITION, _RELATIVE, _DOCUMENTATION, _CODE, _PARTS, _HEADS = 700, 240, 300, 1200, 300, 150
_IN_FEW_WORDS = 300
"""Maximum length of a definition in a brief description. All candidates together use about 4,000 tokens."""

_ALIKE = 0.8
"""Minimum fraction of shared words for a definition to be considered a repetition."""

_KINSHIP = {"part of": "{0} is part of it", "has part": "part of {0}", "same paper": "of the paper of {0}"}


@dataclass(frozen=True)
class Candidate:
    """A search row with its technique and any relatives that matched."""

    row: SearchRow
    views: tuple[TechniqueView, ...]


def labelled(candidates: Sequence[Candidate]) -> dict[str, tuple[Candidate, TechniqueView]]:
    """Maps labels in the question to techniques. A row's lead has a label such as `2`, its relatives `2a`, `2b` and so
    on."""
    return {
        f"{number}{LETTERS[place - 1] if place else ''}": (candidate, view)
        for number, candidate in enumerate(candidates, start=1)
        for place, view in enumerate(candidate.views)
    }


def described(candidates: Sequence[Candidate], step: str) -> str:
    """Renders the candidates as text, with the code that best matches the step. Text from papers is joined into one
    line and code is indented, so that neither can imitate another candidate. Repeated definitions are omitted."""
    definitions = _Definitions()
    texts = (_described(number, each, step, definitions) for number, each in enumerate(candidates, start=1))
    return "\n\n".join(texts)


class _Definitions:
    """The definitions used so far, so that each appears only once."""

    def __init__(self) -> None:
        self._said: dict[str, frozenset[str]] = {}

    def say(self, label: str, view: TechniqueView, characters: int) -> str:
        text = short(view.technique.definition, characters)
        terms = frozenset(query_terms(view.technique.definition))
        for earlier, others in self._said.items():
            if terms and len(terms & others) >= _ALIKE * len(terms | others):
                return f"as {earlier}"
        self._said[label] = terms
        return text or "none"


def _described(number: int, candidate: Candidate, step: str, definitions: _Definitions) -> str:
    own, *others = candidate.views
    in_full = number <= IN_FULL
    definition = definitions.say(str(number), own, _DEFINITION if in_full else _IN_FEW_WORDS)
    lines = [
        f"Candidate {number}: {_title(own)}",
        f'paper: "{short(own.paper_title, 150)}"; place in it: {short(" > ".join(own.path), 200)}',
        f"definition: {definition}",
        *_components(own),
        *(_code(own, step) if in_full and own.code is not None else [f"code: {_code_heads(own)}"]),
    ]
    for letter, view in zip(LETTERS, others, strict=False):
        label = f"{number}{letter}"
        about = f": {definitions.say(label, view, _RELATIVE)}" if in_full else ""
        lines.append(f"{label} ({_kin(view, number, own)}): {_title(view)}{about}{_inside(view)}")
    return "\n".join(lines)


def _code(own: TechniqueView, step: str) -> Iterator[str]:
    if (code := own.code) is None:
        return
    if code.documentation and short(code.documentation, 80) not in short(own.technique.definition, _DEFINITION):
        yield f"documentation: {short(code.documentation, _DOCUMENTATION)}"
    yield f"code ({short(code.language, 30) or 'python'}, {code.standing}):"
    wanted = terms(
        f"{step} {own.technique.name} {own.technique.definition}"
    )  # the step may share no words with the code
    yield from (f"    {line}" for line in excerpt(code.implementation, wanted, _CODE))


def _title(view: TechniqueView) -> str:
    also = f" (also {', '.join(view.technique.aliases)})" if view.technique.aliases else ""
    return short(view.technique.name + also, 160)


def _components(view: TechniqueView) -> list[str]:
    names = "; ".join(child.name for child in view.children)
    return [f"components: {short(names, _PARTS)}"] if names else []


def _code_heads(view: TechniqueView) -> str:
    if view.code is None:
        return "none"
    names = heads(view.code.implementation, _HEADS)
    return f"yes, with {names}" if names else "yes"


def _kin(view: TechniqueView, number: int, own: TechniqueView) -> str:
    """Describes how a technique is related to candidate `number`, and whether it has code."""
    has = "with code" if view.code else "no code"
    kin = _KINSHIP.get(relation(view.technique.id, own.technique.id), "{0} has its name")
    return f"{kin.format(number)}; {has}"


def _inside(view: TechniqueView) -> str:
    lines = _components(view)
    lines += [f"code: {names}"] if view.code and (names := heads(view.code.implementation, _HEADS)) else []
    return "".join(f" | {line}" for line in lines)
