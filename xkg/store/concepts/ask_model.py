"""Asks a language model which undecided pairs of techniques are the same concept, with a dozen pairs per question."""

from collections.abc import Sequence
from pathlib import Path

from xkg.llm.client import AnswerType, Ask
from xkg.llm.prompt import load_prompt
from xkg.store.concepts.decisions import judged, text_hash
from xkg.store.graph_store import Decision, Relation, TechniqueView
from xkg.text.unicode import one_line

PAIRS = 12
"""Number of pairs in each question to the model. The instructions cost as much as two pairs, but a failed answer leaves
all its pairs undecided."""
_DEFINITION_CHARACTERS = 1200
_PROMPT = Path(__file__).parent / "prompts" / "same_concept.md"

Pair = tuple[TechniqueView, TechniqueView]


class PairRelation(AnswerType):
    pair: int
    relation: Relation


class Relations(AnswerType):
    relations: tuple[PairRelation, ...]


def decide(pairs: Sequence[Pair], ask: Ask) -> list[Decision]:
    """Returns a decision for each pair. The lower id must come first in each pair. Raises the same errors as `ask`."""
    prompt = load_prompt(_PROMPT)
    text = "\n\n".join(
        f"Pair {number}\n{_described('A', first)}\n{_described('B', second)}"
        for number, (first, second) in enumerate(pairs, start=1)
    )
    numbers = list(range(1, len(pairs) + 1))

    def check(answer: Relations) -> str | None:
        if [answered.pair for answered in answer.relations] == numbers:
            return None
        return f"there are {len(pairs)} pairs: give one relation for each of 1 to {len(pairs)}, in this order"

    answer = ask(prompt, Relations, {"pairs": text}, about=f"{len(pairs)} pairs of techniques", check=check)
    return [
        Decision(
            first=first.technique.id,
            second=second.technique.id,
            judged=judged(text_hash(first.technique), text_hash(second.technique)),
            relation=answered.relation,
            by=prompt.identity,
        )
        for (first, second), answered in zip(pairs, answer.relations, strict=True)
    ]


def _described(letter: str, view: TechniqueView) -> str:
    """Describes a technique in exactly two lines. Line breaks in the paper's text are removed, so that the text cannot
    imitate another pair."""
    technique = view.technique
    also = f" (also {', '.join(technique.aliases)})" if technique.aliases else ""
    definition = one_line(technique.definition)
    if len(definition) > _DEFINITION_CHARACTERS:
        definition = definition[:_DEFINITION_CHARACTERS].rpartition(" ")[0] + " …"
    title = one_line(view.paper_title)
    return f'{letter}: {one_line(technique.name + also)}, in the paper "{title}"\n{definition or "No definition."}'
