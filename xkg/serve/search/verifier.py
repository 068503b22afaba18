"""The language model verifies search rows: those that serve the step are retained, with how to apply them."""

import ast
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from xkg.errors import XkgError
from xkg.llm.client import AnswerType
from xkg.llm.prompt import load_prompt
from xkg.sandbox.evidence.python_ast import syntax_tree
from xkg.serve.answers.lookup import search_row
from xkg.serve.answers.types import MORE_ROWS, DroppedRow, Relative, SearchAnswer, SearchRow, short
from xkg.serve.search.filters import Filters
from xkg.serve.search.model_questions import Answered, Questions
from xkg.serve.search.search import Seek, relation
from xkg.store.graph_store import Snapshot, TechniqueView

CANDIDATES, IN_FULL = 12, 6
"""Rows in the question, each with the `RELATIVES` that matched best. Those after `IN_FULL` are described briefly: one
in twenty paraphrases has its answer there."""

RELATIVES = 3

WORTH = 0.02
"""The least score of a query that is worth a question. It is lower than `FITS` (`xkg.serve.search.calibration`), since
the verifier can distinguish weak matches from queries without an answer."""

HOPELESS = 0.01
"""Rows that score less are left out of the question."""

_DEFINITION, _RELATIVE, _DOCUMENTATION, _CODE, _PARTS = 700, 240, 300, 1200, 300
_IN_FEW_WORDS = 300
"""Characters of a candidate, so that all take about 4,000 tokens."""

_PARSED = 200_000
_REASON, _GUIDANCE = 240, 480

MOST_DROPPED = 3
"""Dropped rows that are named, those that the search ranked first: they are the most misleading."""

_KINSHIP = {"part of": "{0} is part of it", "has part": "part of {0}", "same paper": "of the paper of {0}"}
_PROMPT = Path(__file__).parent / "prompts" / "verify.md"
_PREAMBLE = re.compile(r"import |from \S+ import |#|\s*(\.\.\.)?$|__all__")
_HEAD = re.compile(r"(?:async )?(?:def|class) \w+")


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
class Candidate:
    """A search row with the techniques that it stands for: its own, and relatives that matched."""

    row: SearchRow
    views: tuple[TechniqueView, ...]


@dataclass(frozen=True)
class Verification:
    """A question under way: its candidates, the future verdict (None where there is nothing to ask), and the answer of
    the search alone."""

    candidates: tuple[Candidate, ...]
    verdict: "Future[Answered[Verdict]] | None"
    plain: SearchAnswer
    k: int


def begin(
    questions: Questions, snapshot: Snapshot, seek: Seek, query: str, k: int, filters: Filters, task: str = ""
) -> Verification:
    """Asks which of the best techniques serve the step `query`, perhaps one of `task`. Raises what `seek` does."""
    plain = seek(snapshot, query, k, filters)
    candidates = _candidates(snapshot, seek(snapshot, query, CANDIDATES, filters, bar=WORTH).rows)
    if not candidates:
        return Verification((), None, plain, k)
    inputs = {"step": plain.query, "task": task, "candidates": described(candidates)}
    verdict = questions.begin(load_prompt(_PROMPT), Verdict, inputs, short(plain.query, 80), _checking(candidates))
    return Verification(candidates, verdict, plain, k)


def finish(questions: Questions, verification: Verification, until: float) -> SearchAnswer:
    """The retained rows, best first, with reason and guidance; or the answer of the search alone, and why it was not
    verified, where the model has not answered by `until`. Raises no error of the model."""
    plain = verification.plain
    if verification.verdict is None:
        return plain.model_copy(update={"verified": "no candidate is near enough to ask a model"})
    try:
        answered = questions.wait(verification.verdict, until)
    except XkgError as error:
        return plain.model_copy(update={"verified": f"not verified: {error}"})
    return _judged(verification, answered.answer, answered.model)


def _judged(verification: Verification, verdict: Verdict, model: str) -> SearchAnswer:
    named = _named(verification.candidates)
    judged = {judgement.candidate: judgement for judgement in verdict.judgements}
    rows = tuple(_row(named[name], judged[name]) for name in verdict.best_first)
    dropped = tuple(
        DroppedRow(id=view.technique.id, name=view.technique.name, reason=short(judgement.reason, 160))
        for judgement in verdict.judgements
        if not judgement.keep
        for _, view in [named[judgement.candidate]]
    )
    more, others = len(rows) - verification.k, len(dropped) - MOST_DROPPED
    cut = [f"{more} more that were kept; {MORE_ROWS}"] if more > 0 else []
    cut += [f"{others} more that were dropped"] if others > 0 else []
    if not rows:
        cut.append("say the step in other words, or write it yourself: what is alike here would mislead")
    return verification.plain.model_copy(
        update={
            "rows": rows[: verification.k],
            "verified": f"by {model}: {len(rows)} of {len(verdict.judgements)} candidates kept",
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
    inside = {row.id: [row.id, *(r.id for r in row.relatives[:RELATIVES])] for row in rows}
    views = {view.technique.id: view for view in snapshot.techniques([t for ids in inside.values() for t in ids])}
    return tuple(
        Candidate(row, tuple(views[t] for t in inside[row.id] if t in views))
        for row in rows
        if row.id in views and row.score >= HOPELESS
    )


def _named(candidates: Sequence[Candidate]) -> dict[str, tuple[Candidate, TechniqueView]]:
    """Techniques by their label in the question: `2` for the lead of a row, `2a` and so on for its relatives."""
    return {
        f"{number}{'abcdefgh'[place - 1] if place else ''}": (candidate, view)
        for number, candidate in enumerate(candidates, start=1)
        for place, view in enumerate(candidate.views)
    }


def _checking(candidates: Sequence[Candidate]) -> Callable[[Verdict], str | None]:
    known = set(_named(candidates))
    numbers = [str(number) for number in range(1, len(candidates) + 1)]

    def check(verdict: Verdict) -> str | None:
        named_candidates = [judgement.candidate for judgement in verdict.judgements]
        if odd := [name for name in (*named_candidates, *verdict.best_first) if name not in known]:
            return f"there is no candidate {odd[0][:40]!r}: they are 1 to {len(numbers)}, and those with a letter"
        if list(dict.fromkeys(name.rstrip("abcdefgh") for name in named_candidates)) != numbers or len(
            set(named_candidates)
        ) < len(named_candidates):
            return f"give a judgement for each of 1 to {len(numbers)}, in this order, and none twice"
        retained = [judgement.candidate for judgement in verdict.judgements if judgement.keep]
        if sorted(retained) != sorted(verdict.best_first):
            return f"best_first has to hold each candidate that is kept, and no other: {', '.join(retained) or 'none'}"
        return None

    return check


def described(candidates: Sequence[Candidate]) -> str:
    """The candidates as text for the question. Texts of papers take one line each and code is indented, so that none
    can pass for another candidate."""
    in_full = [_described(number, candidate) for number, candidate in enumerate(candidates[:IN_FULL], start=1)]
    rest = [
        _in_few_words(number, candidate) for number, candidate in enumerate(candidates[IN_FULL:], start=IN_FULL + 1)
    ]
    return "\n\n".join([*in_full, *rest])


def _in_few_words(number: int, candidate: Candidate) -> str:
    own, *others = candidate.views
    place = f"{short(own.paper_title, 100)}: {short(' > '.join(own.path), 120)}"
    lines = [
        f"Candidate {number}: {_title(own)}",
        f"paper and place: {place}",
        f"definition: {short(own.technique.definition, _IN_FEW_WORDS) or 'none'}",
        f"code: {_heads(own.code.implementation) if own.code else 'none'}",
    ]
    for letter, view in zip("abcdefgh", others, strict=False):
        lines.append(f"{number}{letter} ({_kin(view, number, own)}): {_title(view)}")
    return "\n".join(lines)


def _heads(implementation: str) -> str:
    names = [match[0] for line in implementation.splitlines() if (match := _HEAD.match(line))]
    return f"yes, with {short(', '.join(names), 150)}" if names else "yes"


def _kin(view: TechniqueView, number: int, own: TechniqueView) -> str:
    """The relation of a technique to candidate `number`, and whether it has code."""
    has = "with code" if view.code else "no code"
    kin = _KINSHIP.get(relation(view.technique.id, own.technique.id), "{0} has its name")
    return f"{kin.format(number)}; {has}"


def _described(number: int, candidate: Candidate) -> str:
    own, *others = candidate.views
    lines = [
        f"Candidate {number}: {_title(own)}",
        f'paper: "{short(own.paper_title, 150)}"; place in it: {short(" > ".join(own.path), 200)}',
        f"definition: {short(own.technique.definition, _DEFINITION) or 'none'}",
    ]
    if own.children:
        lines.append(f"components: {short('; '.join(c.name for c in own.children), _PARTS)}")
    if own.code is None:
        lines.append("code: none")
    else:
        code = own.code
        if code.documentation and short(code.documentation, 80) not in short(own.technique.definition, _DEFINITION):
            lines.append(f"documentation: {short(code.documentation, _DOCUMENTATION)}")
        lines.append(f"code ({short(code.language, 30) or 'python'}, {code.level.value}):")
        lines += [f"    {line}" for line in _excerpt(code.implementation)]
    for letter, view in zip("abcdefgh", others, strict=False):
        about = short(view.technique.definition, _RELATIVE)
        lines.append(f"{number}{letter} ({_kin(view, number, own)}): {_title(view)}: {about}")
    return "\n".join(lines)


def _title(view: TechniqueView) -> str:
    also = f" (also {', '.join(view.technique.aliases)})" if view.technique.aliases else ""
    return short(view.technique.name + also, 160)


def _excerpt(implementation: str) -> list[str]:
    """The beginning of what is computed, without imports, comments and docstrings, and the names of what follows."""
    lines = [line.rstrip() for line in _bare(implementation).splitlines() if not _PREAMBLE.match(line)]
    excerpt: list[str] = []
    room = _CODE
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        excerpt.append(line)
    rest = lines[len(excerpt) :]
    if rest:
        names = [match[0] for line in rest if (match := _HEAD.match(line))]
        follows = f": {short(', '.join(names), 200)}" if names else ""
        excerpt.append(f"… {len(rest)} more lines{follows}")
    return excerpt


def _bare(implementation: str) -> str:
    """Python without comments and docstrings; anything else as it is."""
    if len(implementation) > _PARSED:
        return implementation
    try:
        tree = syntax_tree(implementation)
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0] if node.body else None
                docstring = first.value if isinstance(first, ast.Expr) else None
                if isinstance(docstring, ast.Constant) and isinstance(docstring.value, str):
                    node.body[0] = ast.Expr(ast.Constant(...))
        return ast.unparse(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return implementation
