"""Finds code for a whole task by searching for each step and verifying the results. Each technique is listed only
once."""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from xkg.errors import XkgError
from xkg.llm.client import AnswerType
from xkg.llm.prompt import load_prompt
from xkg.model import Code, paper_of
from xkg.serve.answers.types import (
    Again,
    Implementation,
    ImplementationsAnswer,
    PartAnswer,
    SearchAnswer,
    SearchRow,
    short,
)
from xkg.serve.search.candidates import PART_WORDS, parts
from xkg.serve.search.filters import Filters
from xkg.serve.search.search import Seek
from xkg.serve.verification import verifier
from xkg.serve.verification.model_questions import BUSY_SECONDS, Questions
from xkg.store.graph_store import Snapshot
from xkg.text.unicode import one_line

DEFINITION_CHARACTERS = 120
TASK_CHARACTERS, HEADING_CHARACTERS = 2000, 100
WHOLE = "the task as a whole"
WHOLE_ROWS = 5
"""Number of rows for the whole task, which is the default of search_techniques."""

_NOT_VERIFIED = "not verified"
_NOTHING = "nothing fits: write this part yourself, or ask search_techniques in other words"


def find_implementations(
    opened: Callable[[], AbstractContextManager[Snapshot]],
    seek: Seek,
    questions: Questions,
    task: str,
    k: int,
    filters: Filters,
    full: bool = False,
) -> ImplementationsAnswer:
    """Returns up to `k` techniques for each step in `task`, with instructions for applying them. `full` adds the
    techniques' code. If no model verifies the techniques, adds results for the whole task, because the task is more
    informative than its individual steps. If no model is available, the answer contains the verifier's question, so
    that the reader can answer it.

    Waits at most twice `serve.questions.wait_seconds` for the model. Later replies are ignored. Raises any error from
    `seek`."""
    found = decompose(questions, task)
    decomposed, left_out = found.by, len(found.steps) - MOST_STEPS
    steps = found.steps[:MOST_STEPS]
    context = short(task, TASK_CHARACTERS) if len(steps) > 1 else ""
    verifications = [verifier.begin(questions, opened, seek, step, k, filters, context) for step in steps]
    with opened() as snapshot:
        whole = seek(snapshot, short(task, TASK_CHARACTERS), max(k, WHOLE_ROWS), filters)
        code = _code(snapshot, [whole, *(verification.plain for verification in verifications)])
    until = time.monotonic() + (questions.wait_seconds if found.by_model else BUSY_SECONDS)
    answers = [verifier.finish(questions, verification, until) for verification in verifications]
    asked_about = (view for verification in verifications for c in verification.candidates for view in c.views)
    code |= {view.code.id: view.code for view in asked_about if view.code}
    verified = _verified(answers)
    if verified.startswith(_NOT_VERIFIED):
        whole = whole.model_copy(update={"rows": _by_paper(whole.rows), "verified": verified})
        if len(steps) == 1:
            answers = [whole]
        else:
            steps, answers = [*steps, WHOLE], [*(_with_relatives(answer, whole) for answer in answers), whole]
        if decomposed.partition(": ")[2] in verified:
            decomposed = BY_STRUCTURE
    parts = _parts(steps, answers, verified, full)
    most = max(len(part.rows) for part in parts)
    question, candidates = _for_reader(opened, steps, answers, parts) if questions.unavailable else ("", "")
    rows = [row for place in range(most) for part in parts for row in part.rows[place : place + 1]]
    cut = [f"{left_out} more parts: ask for these parts separately"] if left_out > 0 else []
    if code and not full and rows:
        cut.append("code: get_code with a row's id, or detail='full'")
    return ImplementationsAnswer(
        task=short(task, HEADING_CHARACTERS),
        decomposed=decomposed,
        parts=parts,
        implementations=tuple(
            _implementation(row, node) for row in rows if full and (node := code.get(row.code or ""))
        ),
        verified=verified,
        question=question,
        candidates=candidates,
        searched=answers[0].searched,
        cut="; ".join(cut),
    )


def _for_reader(
    opened: Callable[[], AbstractContextManager[Snapshot]],
    steps: Sequence[str],
    answers: Sequence[SearchAnswer],
    parts: Sequence[PartAnswer],
) -> tuple[str, str]:
    """Returns the verifier's question and the candidates, rendered part by part, for the reader of the answer."""
    question, described = "", []
    with opened() as snapshot:
        for step, answer, part in zip(steps, answers, parts, strict=True):
            shown = {row.id for row in part.rows}
            rows = [row for row in answer.rows if row.id in shown]
            asked, candidates = verifier.for_reader(snapshot, rows, step)
            question = question or asked
            described += [f"For part {part.number}:\n\n{candidates}"] if candidates else []
    return question, "\n\n".join(described)


def _parts(steps: Iterable[str], answers: Iterable[SearchAnswer], verified: str, full: bool) -> tuple[PartAnswer, ...]:
    parts_of_rows: dict[str, int] = {}
    parts: list[PartAnswer] = []
    for number, (step, answer) in enumerate(zip(steps, answers, strict=True), start=1):
        again = [row for row in answer.rows if row.id in parts_of_rows]
        rows = [row for row in answer.rows if row.id not in parts_of_rows]
        parts_of_rows.update((row.id, number) for row in rows)
        notes = [] if answer.rows else [_NOTHING]
        if answer.verified.startswith(_NOT_VERIFIED) and answer.verified != verified:
            notes.append(answer.verified)
        parts.append(
            PartAnswer(
                number=number,
                step=step,
                rows=tuple(rows if full else map(_brief, rows)),
                again=tuple(Again(id=r.id, name=r.name, part=parts_of_rows[r.id], guidance=r.guidance) for r in again),
                note="; ".join(notes),
            )
        )
    return tuple(parts)


def _brief(row: SearchRow) -> SearchRow:
    definition = "" if row.guidance else short(row.definition, DEFINITION_CHARACTERS)
    relatives = () if row.guidance else row.relatives
    changed = {"definition": definition, "relatives": relatives, "without_code": (), "reason": ""}
    return row.model_copy(update=changed)


def _verified(answers: Iterable[SearchAnswer]) -> str:
    """Summarizes the verification of all parts in one line."""
    outcomes = dict.fromkeys(answer.verified for answer in answers)
    failed = [line for line in outcomes if line.startswith(_NOT_VERIFIED)]
    models = dict.fromkeys(line.split(":")[0] for line in outcomes if line.startswith("by "))
    if failed and models:
        return f"{', '.join(models)}, but not every part"
    return ", ".join(models) or (failed or list(outcomes))[0]


def _by_paper(rows: Sequence[SearchRow]) -> tuple[SearchRow, ...]:
    papers = list(dict.fromkeys(paper_of(row.id) for row in rows))
    return tuple(sorted(rows, key=lambda row: papers.index(paper_of(row.id))))


def _with_relatives(answer: SearchAnswer, whole: SearchAnswer) -> SearchAnswer:
    """Adds the relatives found for the whole task to the rows for a step."""
    others = {row.id: row.relatives for row in whole.rows}
    rows = (
        row.model_copy(
            update={"relatives": tuple({r.id: r for r in (*others.get(row.id, ()), *row.relatives)}.values())}
        )
        for row in answer.rows
    )
    return answer.model_copy(update={"rows": tuple(rows)})


def _code(snapshot: Snapshot, answers: Iterable[SearchAnswer]) -> dict[str, Code]:
    rows = {row.id for answer in answers for row in answer.rows if row.code}
    return {view.code.id: view.code for view in snapshot.techniques(sorted(rows)) if view.code}


def _implementation(row: SearchRow, code: Code) -> Implementation:
    return Implementation(
        code=code.id,
        name=row.name,
        level=code.standing,
        language=code.language,
        packages=code.versions,
        implementation=code.implementation,
    )


MOST_STEPS = 6
BY_STRUCTURE = "by the text's own structure"
_STEP_CHARACTERS = 600

_PROMPT = Path(__file__).parent / "prompts" / "decompose.md"
_ITEM = re.compile(r"^[ \t]*(?:[-*+\u2022]|\(?(?:\d{1,2}|[a-z])[.)])[ \t]+(?=\S)", re.M)
_BLANK = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.;!?])\s+(?=\S)|\n+")


class Steps(AnswerType):
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Decomposed:
    """A task's steps (at least one). `by` describes how the steps were found. `by_model` says whether a model found the
    steps."""

    steps: list[str]
    by: str
    by_model: bool


def decompose(questions: Questions, task: str) -> Decomposed:
    """Splits a task into steps. Waits up to `serve.questions.wait_seconds` for the model."""
    try:
        question = questions.begin(load_prompt(_PROMPT), Steps, {"task": task}, short(task, 80), _objection)
        answered = questions.wait(question, time.monotonic() + questions.wait_seconds)
    except XkgError as error:
        return Decomposed(by_structure(task), f"{BY_STRUCTURE}, not by a model: {error}", False)
    return Decomposed(list(map(one_line, answered.answer.steps)), f"by {answered.model}", True)


def by_structure(task: str) -> list[str]:
    """Splits a task into list items, if there are any, or else into sentences. A single long sentence is split into
    clauses. Returns the task itself if it has only one part. Very short sentences are joined to the previous
    sentence."""
    items = [one_line(_BLANK.split(item)[0]) for item in _ITEM.split(task)[1:]]
    if len(items) > 1:
        return _distinct(items)
    sentences: list[str] = []
    for sentence in map(one_line, _SENTENCE.split(task)):
        if sentences and len(sentence.split()) < PART_WORDS:
            sentences[-1] = f"{sentences[-1]} {sentence}"
        else:
            sentences.append(sentence)
    sentences = _distinct(sentences)
    if len(sentences) > 1:
        return sentences
    return _distinct(parts(one_line(task))) or [one_line(task)]


def _objection(answer: Steps) -> str | None:
    steps = list(map(one_line, answer.steps))
    if not 1 <= len(steps) <= MOST_STEPS:
        return f"give 1 to {MOST_STEPS} steps"
    if not all(steps) or len(set(steps)) < len(steps):
        return "each step needs text, and no two may be equal"
    if any(len(step) > _STEP_CHARACTERS for step in steps):
        return f"a step has at most {_STEP_CHARACTERS} characters"
    return None


def _distinct(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))
