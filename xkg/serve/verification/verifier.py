"""Verifies search rows with the language model, which keeps the rows that fit the step and says how to apply them."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from xkg.errors import XkgError
from xkg.llm.client import AnswerType
from xkg.llm.prompt import load_prompt
from xkg.serve.answers.lookup import search_row
from xkg.serve.answers.types import MORE_ROWS, Mention, Relative, SearchAnswer, SearchRow, short
from xkg.serve.search.filters import Filters
from xkg.serve.search.search import Seek, relation
from xkg.serve.verification.candidate_text import IN_FULL, LETTERS, Candidate, described, labelled
from xkg.serve.verification.model_questions import Answered, Questions
from xkg.store.graph_store import Snapshot, TechniqueView

CANDIDATES = 12
"""Number of rows in the question, each with its `RELATIVES` best-matching relatives."""

RELATIVES = 3

WORTH = 0.02
"""Minimum score of the best row. If no row reaches this score, no question is asked. The minimum is lower than `FITS`
(`xkg.serve.search.calibration`), because the verifier can distinguish weak matches from queries without an answer."""

HOPELESS = 0.01
"""Minimum score of rows in the question."""

_REASON, _GUIDANCE = 240, 480

MOST_DROPPED = 3
"""Maximum number of dropped rows to list. The rows that the search ranked highest are listed, because they are the most
misleading."""

_PROMPT = Path(__file__).parent / "prompts" / "verify.md"

Opened = Callable[[], AbstractContextManager[Snapshot]]


class Judgement(AnswerType):
    candidate: str
    reason: str
    keep: bool
    guidance: str


class Verdict(AnswerType):
    needed: str
    judgements: tuple[Judgement, ...]
    best_first: tuple[str, ...]


@dataclass(frozen=True)
class Verification:
    """A verification in progress. `plain` is the unverified search answer, `candidates` are the rows in the question,
    and `verdict` is None if there are no candidates."""

    plain: SearchAnswer
    k: int
    candidates: tuple[Candidate, ...]
    verdict: "Future[Answered[Verdict]] | None"


def begin(
    questions: Questions, opened: Opened, seek: Seek, query: str, k: int, filters: Filters, task: str = ""
) -> Verification:
    """Asks which of the best techniques fit the step `query`, which may be part of `task`. Raises any error from
    `seek`."""
    with opened() as snapshot:
        plain = seek(snapshot, query, k, filters)
        rows = seek(snapshot, plain.query, CANDIDATES, filters, bar=HOPELESS).rows
        candidates = _candidates(snapshot, rows if rows and rows[0].score >= WORTH else ())
    if not candidates:
        return Verification(plain, k, (), None)
    inputs = {"step": plain.query, "task": task, "candidates": described(candidates, plain.query)}
    about = short(plain.query, 80)
    verdict = questions.begin(load_prompt(_PROMPT), Verdict, inputs, about, _checking(candidates))
    return Verification(plain, k, candidates, verdict)


def for_reader(snapshot: Snapshot, rows: Sequence[SearchRow], step: str) -> tuple[str, str]:
    """Returns the verifier's instructions and candidates, so that the reader of the answer can verify the rows if no
    model is available. Candidates have the same numbers as the rows."""
    candidates = _candidates(snapshot, rows)
    return (load_prompt(_PROMPT).system, described(candidates, step)) if candidates else ("", "")


def finish(questions: Questions, verification: Verification, until: float) -> SearchAnswer:
    """Returns the rows that the model keeps, best first, with reasons and guidance. If the model fails or has not
    answered by `until`, returns the unverified search answer with the reason."""
    plain = verification.plain
    if verification.verdict is None:
        return plain.model_copy(update={"verified": "no candidate is near enough to ask a model"})
    try:
        answered = questions.wait(verification.verdict, until)
    except XkgError as error:
        return plain.model_copy(update={"verified": f"not verified: {error}"})
    return _judged(verification, answered.answer, answered.model)


def _judged(verification: Verification, verdict: Verdict, model: str) -> SearchAnswer:
    candidates = verification.candidates
    named = labelled(candidates)
    judged = {judgement.candidate: judgement for judgement in verdict.judgements}
    rows = tuple(_row(named[name], judged[name]) for name in verdict.best_first)
    dropped = tuple(
        Mention(id=view.technique.id, name=view.technique.name, reason=short(judgement.reason, 160))
        for judgement in verdict.judgements
        if not judgement.keep
        for _, view in [named[judgement.candidate]]
    )
    retained = {name.rstrip(LETTERS) for name in verdict.best_first}
    more = len(rows) - verification.k
    others = len(candidates) - len(retained) - len(dropped[:MOST_DROPPED])
    cut = [f"{more} more that were kept; {MORE_ROWS}"] if more > 0 else []
    cut += [f"{others} more that were dropped"] if others > 0 else []
    if not rows:
        cut.append("rephrase the step, or write the code yourself: similar code would be misleading")
    return verification.plain.model_copy(
        update={
            "rows": rows[: verification.k],
            "nearest": (),
            "verified": f"by {model}: {len(rows)} of {len(candidates)} candidates kept",
            "dropped": dropped[:MOST_DROPPED],
            "cut": "; ".join(cut),
        }
    )


def _row(judged: tuple[Candidate, TechniqueView], judgement: Judgement) -> SearchRow:
    candidate, view = judged
    scores = {candidate.row.id: candidate.row.score} | {r.id: r.score or 0.0 for r in candidate.row.relatives}
    lead = view.technique.id
    relatives = [
        Relative(id=v.technique.id, name=v.technique.name, relation=relation(v.technique.id, lead), score=score)
        for v in candidate.views
        if v is not view
        for score in [scores[v.technique.id]]
    ]
    row = candidate.row if lead == candidate.row.id else search_row(view, scores[lead], relatives)
    texts = {"reason": short(judgement.reason, _REASON), "guidance": short(judgement.guidance, _GUIDANCE)}
    return row.model_copy(update=texts)


def _candidates(snapshot: Snapshot, rows: Sequence[SearchRow]) -> tuple[Candidate, ...]:
    leads = {row.id for row in rows}
    inside: dict[str, list[str]] = {}
    for row in rows:
        relatives = [r.id for r in row.relatives if r.id not in leads][:RELATIVES]
        leads.update(relatives)
        inside[row.id] = [row.id, *relatives]
    views = {view.technique.id: view for view in snapshot.techniques([t for ids in inside.values() for t in ids])}
    return tuple(
        Candidate(row, tuple(views[t] for t in inside[row.id] if t in views)) for row in rows if row.id in views
    )


def _checking(candidates: Sequence[Candidate]) -> Callable[[Verdict], str | None]:
    known = set(labelled(candidates))
    numbers = [str(number) for number in range(1, len(candidates) + 1)]
    required = numbers[:IN_FULL]

    def check(verdict: Verdict) -> str | None:
        named_candidates = [judgement.candidate for judgement in verdict.judgements]
        if odd := [name for name in (*named_candidates, *verdict.best_first) if name not in known]:
            return f"there is no candidate {odd[0][:40]!r}; the labels are 1 to {len(numbers)} and those with a letter"
        groups = list(dict.fromkeys(name.rstrip(LETTERS) for name in named_candidates))
        if (
            groups != sorted(groups, key=int)
            or set(required) - set(groups)
            or len({*named_candidates}) < len(named_candidates)
        ):
            return f"judge each of 1 to {len(required)} in this order, then any others, each only once"
        retained = [judgement.candidate for judgement in verdict.judgements if judgement.keep]
        if sorted(retained) != sorted(verdict.best_first):
            return f"best_first must list every candidate that is kept, and no other: {', '.join(retained) or 'none'}"
        return None

    return check
