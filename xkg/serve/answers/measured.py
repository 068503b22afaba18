"""Adds measured ablations to answers."""

from collections.abc import Mapping, Sequence

from xkg.model import Ablation
from xkg.serve.answers.types import Measured, SearchAnswer, TechniqueAnswer

MOST = 5
"""Maximum number of ablations per technique in a concise answer."""

Ablations = Mapping[str, Sequence[Ablation]]
"""Ablations keyed by technique, largest change first."""


def by_technique(ablations: Sequence[Ablation]) -> Ablations:
    found: dict[str, list[Ablation]] = {}
    for ablation in sorted(ablations, key=lambda a: (-abs(a.change), a.id)):
        found.setdefault(ablation.technique, []).append(ablation)
    return found


def with_measured(answer: TechniqueAnswer, ablations: Ablations, *, full: bool) -> TechniqueAnswer:
    """Returns the answer with the technique's measured ablations."""
    own = ablations.get(answer.id, ())
    if not own:
        return answer
    cut = answer.cut
    if len(own) > MOST and not full:
        more = f"{len(own) - MOST} more ablations: ask for the technique's id with detail='full'"
        cut = f"{cut}; {more}" if cut else more
    shown = tuple(_measured(ablation, full) for ablation in own[: None if full else MOST])
    return answer.model_copy(update={"measured": shown, "cut": cut})


def rows_with_measured(answer: SearchAnswer, ablations: Ablations) -> SearchAnswer:
    """Returns the answer, with the largest measured change added to each row's technique."""
    if not any(row.id in ablations for row in answer.rows):
        return answer
    rows = (
        row.model_copy(update={"measured": round(ablations[row.id][0].change, 4)}) if row.id in ablations else row
        for row in answer.rows
    )
    return answer.model_copy(update={"rows": tuple(rows)})


def _measured(ablation: Ablation, full: bool) -> Measured:
    fields = ablation.model_dump(include=set(Measured.model_fields))
    return Measured(**fields if full else {**fields, "diff": "", "commit": "", "command": ""})
