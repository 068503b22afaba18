"""Presents a job's open questions to the caller who answers them."""

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from xkg.llm.open_questions import OpenQuestion
from xkg.llm.programs.program import conversation
from xkg.serve.answers.quoting import one_line
from xkg.serve.answers.types import Quoting
from xkg.serve.jobs.authority import Caller
from xkg.serve.jobs.table import Row, State
from xkg.value import Value

if TYPE_CHECKING:
    from xkg.serve.jobs.jobs import Jobs

CHARACTERS = 60_000
"""Maximum total length of the questions in one answer in characters, about 15,000 tokens. The first question is always
included in full."""

# Matches the delimiters that `xkg.llm.prompt` puts around a question's inputs.
_OPENING = re.compile(r"<<<(\w{1,60}) ([0-9a-f]{8})>>>\n")
_WORTH = 400
"""Data of at least this many characters is not repeated."""


class JobQuestion(Value):
    """A question from a build. `instructions` say what to do, `prompt` contains the data and the question, and
    `answer_schema` is the answer's JSON schema. `prompt` omits data that the caller has already received. `given` is
    the time when the question was given to a caller, or empty if no caller has received it yet."""

    head: ClassVar[str] = "## question {question}: {stage}"

    question: str
    stage: str
    about: str
    instructions: str
    prompt: str
    answer_schema: dict[str, Any]
    given: str


class QuestionsAnswer(Quoting):
    """A job's open questions. `waiting` is their total number, and `note` says what to do next."""

    job: int
    state: State
    questions: tuple[JobQuestion, ...]
    waiting: int
    note: str


class TakenAnswer(Value):
    """Confirms that an answer was stored. The build continues with this answer."""

    job: int
    question: str
    state: State
    waiting: int
    note: str


def offered(
    jobs: "Jobs", job: int, caller: Caller, most: int, known: Collection[str], wait_seconds: float
) -> QuestionsAnswer:
    """Returns up to `most` of a job's open questions, as many as fit. `known` contains the marks of data that the
    caller already has and that is therefore omitted. Raises the same errors as `Jobs.questions`."""
    row, waiting = jobs.questions(job, caller, wait_seconds)
    seen = set(known)
    questions: list[JobQuestion] = []
    room = CHARACTERS
    for question in waiting[:most]:
        marks = set(seen)
        one = _shown(question, marks)
        room -= len(one.prompt) + len(one.instructions)
        if questions and room < 0:
            break
        questions.append(one)
        seen = marks
    jobs.give(job, waiting[: len(questions)])
    return QuestionsAnswer(
        job=row.id, state=row.state, questions=tuple(questions), waiting=len(waiting), note=_next(row, len(waiting))
    )


def taken(jobs: "Jobs", job: int, question: str, answer: Mapping[str, Any], caller: Caller) -> TakenAnswer:
    """Stores the answer to a question. Raises the same errors as `Jobs.answer`."""
    row, waiting = jobs.answer(job, question, answer, caller)
    return TakenAnswer(job=row.id, question=question, state=row.state, waiting=waiting, note=_next(row, waiting))


def _next(row: Row, waiting: int) -> str:
    if row.state not in ("queued", "running"):
        return (
            f"The job is {row.state}. See job_status for its result; to continue an unfinished job, call build again."
        )
    if waiting:
        return "Answer each question with `answer`, then call `questions` for the next questions."
    return "No question is open now; call `questions` again, which waits for the next question."


def _shown(question: OpenQuestion, seen: set[str]) -> JobQuestion:
    instructions, prompt = conversation(question.messages)
    return JobQuestion(
        question=question.id,
        stage=question.stage,
        about=one_line(question.about)[:200],
        instructions=instructions,
        prompt=_without_repeats(prompt, seen),
        answer_schema=dict(question.schema),
        given="" if question.given_ago is None else f"given to a caller {question.given_ago:.0f} s ago",
    )


def _without_repeats(prompt: str, seen: set[str]) -> str:
    """Returns the prompt without the long data whose marks are in `seen`, and adds the marks of all other data to
    `seen`."""
    pieces: list[str] = []
    done = at = 0
    while opening := _OPENING.search(prompt, at):
        name, mark = opening.groups()
        at = opening.end()
        closing = f"\n<<<end {name} {mark}>>>"
        if (end := prompt.find(closing, at)) < 0:
            continue
        if end - at >= _WORTH and mark in seen:
            pieces += (prompt[done:at], "(you already have it: not repeated)")
            done = end
        seen.add(mark)
        at = end + len(closing)
    return "".join((*pieces, prompt[done:]))
