"""A query in other words: how papers might define what it asks for, by a guess of the language model.

Who describes a need has other words than the paper that meets it. A guessed definition lies nearer to the true one,
whether or not the guess is right: Gao, Ma, Lin and Callan, "Precise Zero-Shot Dense Retrieval without Relevance
Labels" (HyDE), ACL 2023, arXiv 2212.10496.
"""

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
"""The constant of rank fusion: so small that the first row for a phrasing stands among the first, since a dozen rows
are retained of lists of a dozen."""

_CHARACTERS = 600
_PROMPT = Path(__file__).parent / "prompts" / "rewrite.md"


class Phrasings(AnswerType):
    phrasings: tuple[str, ...]


def begin(questions: Questions, query: str) -> "Future[Answered[Phrasings]]":
    """Asks for other words of a query; the answers pass `objection`."""
    return questions.begin(
        load_prompt(_PROMPT), Phrasings, {"query": query}, short(query, 80), lambda given: objection(given.phrasings)
    )


def objection(phrasings: Sequence[str]) -> str | None:
    """What is wrong with the phrasings of one need, in words for the model."""
    texts = [one_line(text) for text in phrasings]
    if not 1 <= len(texts) <= MOST_PHRASINGS:
        return f"give 1 to {MOST_PHRASINGS} phrasings"
    if not all(texts) or any(len(text) > _CHARACTERS for text in texts):
        return f"a phrasing has 1 to {_CHARACTERS} characters"
    return None


def rows(
    seek: Callable[[str], Sequence[SearchRow]], query: str, phrasings: Sequence[str], most: int
) -> list[SearchRow]:
    """The rows that the query and its phrasings find, at most `most`, by fused ranks, in which the query counts as much
    as all phrasings together. A row of a phrasing whose lead stands inside another row counts for that row, in which it
    comes first among the relatives; the score of any other is that of its phrasing."""
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
    """The row with this one first among its relatives."""
    return row.model_copy(update={"relatives": tuple(sorted(row.relatives, key=lambda other: other.id != technique))})
