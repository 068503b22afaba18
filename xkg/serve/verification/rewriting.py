"""Rewords a query: the language model guesses how papers might define the technique.

A description of a need uses other words than the paper that meets it. A guessed definition is nearer to the true one,
whether or not the guess is right: Gao, Ma, Lin and Callan, "Precise Zero-Shot Dense Retrieval without Relevance Labels"
(HyDE), ACL 2023, arXiv 2212.10496."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

from xkg.fusion import reciprocal_rank_fusion
from xkg.llm.client import AnswerType
from xkg.llm.prompt import load_prompt
from xkg.serve.answers.types import SearchRow, short
from xkg.serve.verification.model_questions import Answered, Questions
from xkg.text.unicode import one_line

MOST_PHRASINGS = 4

_FUSED_FROM = 1
"""The constant of rank fusion. It is small, so that the first row of any phrasing is among the first rows: the fused
list keeps only a dozen of them."""

_CHARACTERS = 600
_PROMPT = Path(__file__).parent / "prompts" / "rewrite.md"


class Phrasings(AnswerType):
    phrasings: tuple[str, ...]


def begin(questions: Questions, query: str) -> "Future[Answered[Phrasings]]":
    """Asks for phrasings of a query; the answers pass `objection`."""
    return questions.begin(
        load_prompt(_PROMPT), Phrasings, {"query": query}, short(query, 80), lambda given: objection(given.phrasings)
    )


def objection(phrasings: Sequence[str]) -> str | None:
    """An error message for the model if the phrasings of one need are invalid, otherwise None."""
    texts = [one_line(text) for text in phrasings]
    if not 1 <= len(texts) <= MOST_PHRASINGS:
        return f"give 1 to {MOST_PHRASINGS} phrasings"
    if not all(texts) or any(len(text) > _CHARACTERS for text in texts):
        return f"a phrasing has 1 to {_CHARACTERS} characters"
    return None


def rows(
    seek: Callable[[str], Sequence[SearchRow]], query: str, phrasings: Sequence[str], most: int
) -> list[SearchRow]:
    """Return the rows that the query and its phrasings find, at most `most`, by fused ranks. The query counts as much
    as all phrasings together. If the lead of a phrasing's row is inside another row, it counts for that row and comes
    first among its relatives. Any other row has the score of its phrasing."""
    found = {row.id: row for row in seek(query)}
    rankings = [list(found)]
    texts = list(dict.fromkeys(map(one_line, phrasings)))
    for text in texts:
        ranking: dict[str, None] = {}
        for row in seek(text):
            holder = next((known.id for known in found.values() if _inside(row.id, known)), row.id)
            found[holder] = _with_first(found[holder], row.id) if holder != row.id else found.get(holder, row)
            ranking[holder] = None
        rankings.append(list(ranking))
    fused = reciprocal_rank_fusion(rankings, weights=[max(1, len(texts)), *[1.0] * len(texts)], k=_FUSED_FROM)
    return [found[row] for row, _ in fused[:most]]


def _inside(technique: str, row: SearchRow) -> bool:
    return any(relative.id == technique for relative in row.relatives)


def _with_first(row: SearchRow, technique: str) -> SearchRow:
    """The row with this technique first among its relatives."""
    return row.model_copy(update={"relatives": tuple(sorted(row.relatives, key=lambda other: other.id != technique))})
