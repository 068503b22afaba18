"""Converts a campaign's measurements of techniques to graph nodes."""

from collections.abc import Iterator

from xkg.agents.ablation.outcomes import Campaign, CandidateOutcome
from xkg.model import Ablation, ablation_id


def measurements(campaign: Campaign) -> list[Ablation]:
    """Returns one measurement for each candidate that ran and belongs to a technique, including those without an
    effect."""
    return list(_measured(campaign))


def _measured(campaign: Campaign) -> Iterator[Ablation]:
    technique_of = {c.id: c.technique for c in campaign.space.components}
    commit = campaign.commit or campaign.repository
    task = campaign.task
    command = task.command(task.seeds[0])
    for outcome in campaign.outcomes:
        technique, effect = technique_of.get(outcome.candidate.component), outcome.effect
        if technique is None or effect is None:
            continue
        metric = task.metrics[0].rpartition(":")[0]
        yield Ablation(
            id=ablation_id(technique, commit, outcome.diff, command, metric),
            technique=technique,
            metric=metric,
            direction=task.metric.direction,
            baseline=effect.baseline,
            value=effect.value,
            change=effect.change,
            low=effect.low,
            high=effect.high,
            seeds=effect.seeds,
            kind=outcome.candidate.kind,
            description=outcome.candidate.description + _also(outcome),
            diff=outcome.diff,
            commit=commit,
            command=command,
            measured_at=campaign.when,
        )


def _also(outcome: CandidateOutcome) -> str:
    return f" (also changes measurement code: {', '.join(outcome.measures)})" if outcome.measures else ""
