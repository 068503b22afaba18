"""Code for a whole task: its steps are searched one by one and verified, and each technique is said once."""

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
TASK_CHARACTERS, SHOWN_CHARACTERS = 2000, 100
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

    Waits at most twice `WAIT_SECONDS` for the model, and goes without what it has not said by then. Raises what
    `seek` raises."""
    steps, decomposed, by_model = decompose(questions, task)
    left_out = len(steps) - MOST_STEPS
    steps = steps[:MOST_STEPS]
    context = short(task, TASK_CHARACTERS) if len(steps) > 1 else ""
    with opened() as snapshot:
        asked = [verifier.begin(questions, snapshot, seek, step, k, filters, context) for step in steps]
        code = _code(snapshot, asked)
    until = time.monotonic() + (WAIT_SECONDS if by_model else BUSY_SECONDS)
    found = [verifier.finish(questions, one, until) for one in asked]
    verified = _verified(found)
    parts = _parts(steps, found, verified, full)
    rows = [row for place in range(k) for part in parts for row in part.rows[place : place + 1]]
    implementations, missing = _fitting(rows, code) if full else ((), [])
    cut = [f"{left_out} more parts: ask for them by themselves"] if left_out > 0 else []
    if missing:
        cut.append(f"code of {', '.join(missing)}: get_code has it")
    elif code and not full and rows:
        cut.append("code: get_code (xkg show) with a row's code, or detail='full'")
    return ImplementationsAnswer(
        task=short(task, SHOWN_CHARACTERS),
        decomposed=decomposed,
        parts=parts,
        implementations=implementations,
        verified=verified,
        searched=found[0].searched,
        cut="; ".join(cut),
    )


def _parts(steps: Iterable[str], found: Iterable[SearchAnswer], verified: str, full: bool) -> tuple[PartAnswer, ...]:
    said: dict[str, int] = {}
    parts: list[PartAnswer] = []
    for number, (step, answer) in enumerate(zip(steps, found, strict=True), start=1):
        again = [row for row in answer.rows if row.id in said]
        rows = [row for row in answer.rows if row.id not in said]
        said.update((row.id, number) for row in rows)
        notes = [] if answer.rows else [_NOTHING]
        if answer.verified.startswith("not verified") and answer.verified != verified:
            notes.append(answer.verified)
        parts.append(
            PartAnswer(
                number=number,
                step=step,
                rows=tuple(_brief(row, full) for row in rows),
                again=tuple(Again(id=r.id, name=r.name, part=said[r.id], guidance=r.guidance) for r in again),
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


def _verified(found: Iterable[SearchAnswer]) -> str:
    """One line for all parts, where it is the same for all."""
    said = dict.fromkeys(answer.verified for answer in found)
    failed = [line for line in said if line.startswith("not verified")]
    models = dict.fromkeys(line.split(":")[0] for line in said if line.startswith("by "))
    if failed and models:
        return f"{', '.join(models)}, but not each part"
    return ", ".join(models) or (failed or list(said))[0]


def _code(snapshot: Snapshot, asked: Iterable[verifier.Verification]) -> Mapping[str, Code]:
    """The code of every technique that may become a row, by its id: all of one state of the graph."""
    code = {v.code.id: v.code for one in asked for c in one.candidates for v in c.views if v.code}
    others = {row.id for one in asked for row in one.plain.rows if row.code and row.code not in code}
    return code | {v.code.id: v.code for v in snapshot.techniques(sorted(others)) if v.code}


def _fitting(rows: Iterable[FoundRow], code: Mapping[str, Code]) -> tuple[tuple[Implementation, ...], list[str]]:
    """The code of the rows as far as it fits, each whole; and the ids of what does not."""
    fitting: list[Implementation] = []
    missing: list[str] = []
    room = CODE_CHARACTERS
    for row in rows:
        one = code.get(row.code or "")
        if one is None:
            continue
        if len(one.implementation) > room:
            missing.append(one.id)
            continue
        room -= len(one.implementation)
        fitting.append(
            Implementation(
                code=one.id,
                name=row.name,
                level=one.level.value,
                language=one.language,
                packages=one.packages,
                implementation=one.implementation,
            )
        )
    return tuple(fitting), missing
