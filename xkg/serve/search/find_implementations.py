"""Code for a whole task: its steps are searched one by one and verified, and each technique is listed once."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager

from xkg.model import Code
from xkg.serve.answers.types import (
    Again,
    FoundRow,
    Implementation,
    ImplementationsAnswer,
    PartAnswer,
    SearchAnswer,
    SearchRow,
    short,
)
from xkg.serve.search import verifier
from xkg.serve.search.filters import Filters
from xkg.serve.search.model_questions import BUSY_SECONDS, WAIT_SECONDS, Questions
from xkg.serve.search.search import Seek
from xkg.serve.search.task_steps import MOST_STEPS, decompose
from xkg.store.graph_store import Snapshot

DEFINITION_CHARACTERS = 120
TASK_CHARACTERS, HEADING_CHARACTERS = 2000, 100
CODE_CHARACTERS = 20_000
"""Of code in a full answer: with what JSON escapes, about 6,000 of its 8,000 tokens."""

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
    """At most `k` techniques for each step of `task`, with how to apply them; `full` adds their code.

    Waits at most twice `WAIT_SECONDS` for the model, and leaves out what it has not answered by then. Raises what
    `seek` raises."""
    steps, decomposed, by_model = decompose(questions, task)
    left_out = len(steps) - MOST_STEPS
    steps = steps[:MOST_STEPS]
    context = short(task, TASK_CHARACTERS) if len(steps) > 1 else ""
    with opened() as snapshot:
        verifications = [verifier.begin(questions, snapshot, seek, step, k, filters, context) for step in steps]
        code = _code(snapshot, verifications)
    until = time.monotonic() + (WAIT_SECONDS if by_model else BUSY_SECONDS)
    answers = [verifier.finish(questions, verification, until) for verification in verifications]
    verified = _verified(answers)
    parts = _parts(steps, answers, verified, full)
    rows = [row for place in range(k) for part in parts for row in part.rows[place : place + 1]]
    implementations, missing = _fitting(rows, code) if full else ((), [])
    cut = [f"{left_out} more parts: ask for them by themselves"] if left_out > 0 else []
    if missing:
        cut.append(f"code of {', '.join(missing)}: get_code has it")
    elif code and not full and rows:
        cut.append("code: get_code (xkg show) with a row's code, or detail='full'")
    return ImplementationsAnswer(
        task=short(task, HEADING_CHARACTERS),
        decomposed=decomposed,
        parts=parts,
        implementations=implementations,
        verified=verified,
        searched=answers[0].searched,
        cut="; ".join(cut),
    )


def _parts(steps: Iterable[str], answers: Iterable[SearchAnswer], verified: str, full: bool) -> tuple[PartAnswer, ...]:
    parts_of_rows: dict[str, int] = {}
    parts: list[PartAnswer] = []
    for number, (step, answer) in enumerate(zip(steps, answers, strict=True), start=1):
        again = [row for row in answer.rows if row.id in parts_of_rows]
        rows = [row for row in answer.rows if row.id not in parts_of_rows]
        parts_of_rows.update((row.id, number) for row in rows)
        notes = [] if answer.rows else [_NOTHING]
        if answer.verified.startswith("not verified") and answer.verified != verified:
            notes.append(answer.verified)
        parts.append(
            PartAnswer(
                number=number,
                step=step,
                rows=tuple(_brief(row, full) for row in rows),
                again=tuple(Again(id=r.id, name=r.name, part=parts_of_rows[r.id], guidance=r.guidance) for r in again),
                note="; ".join(notes),
            )
        )
    return tuple(parts)


def _brief(row: SearchRow, full: bool) -> FoundRow:
    return FoundRow(
        id=row.id,
        name=row.name,
        paper_title=row.paper_title,
        score=row.score,
        level=row.level,
        code=row.code,
        definition="" if row.guidance else short(row.definition, DEFINITION_CHARACTERS),
        reason=row.reason if full else "",
        guidance=row.guidance,
    )


def _verified(answers: Iterable[SearchAnswer]) -> str:
    """One line for all parts, where it is the same for all."""
    outcomes = dict.fromkeys(answer.verified for answer in answers)
    failed = [line for line in outcomes if line.startswith("not verified")]
    models = dict.fromkeys(line.split(":")[0] for line in outcomes if line.startswith("by "))
    if failed and models:
        return f"{', '.join(models)}, but not each part"
    return ", ".join(models) or (failed or list(outcomes))[0]


def _code(snapshot: Snapshot, verifications: Iterable[verifier.Verification]) -> Mapping[str, Code]:
    """The code of every technique that may become a row, by its id: all of one state of the graph."""
    code = {
        v.code.id: v.code for verification in verifications for c in verification.candidates for v in c.views if v.code
    }
    others = {row.id for one in verifications for row in one.plain.rows if row.code and row.code not in code}
    return code | {v.code.id: v.code for v in snapshot.techniques(sorted(others)) if v.code}


def _fitting(rows: Iterable[FoundRow], code: Mapping[str, Code]) -> tuple[tuple[Implementation, ...], list[str]]:
    """The code of the rows as far as it fits, each whole; and the ids of what does not."""
    fitting: list[Implementation] = []
    missing: list[str] = []
    room = CODE_CHARACTERS
    for row in rows:
        node = code.get(row.code or "")
        if node is None:
            continue
        if len(node.implementation) > room:
            missing.append(node.id)
            continue
        room -= len(node.implementation)
        fitting.append(
            Implementation(
                code=node.id,
                name=row.name,
                level=node.level.value,
                language=node.language,
                packages=node.packages,
                implementation=node.implementation,
            )
        )
    return tuple(fitting), missing
