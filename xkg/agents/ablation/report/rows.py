"""Formats the numbers, verdicts and remarks of a report."""

from collections import Counter
from collections.abc import Iterator, Sequence

from xkg.agents.ablation.effects import Effect
from xkg.agents.ablation.outcomes import Campaign, CandidateOutcome, Importance, RunOutcome


def change(effect: Effect | None) -> str:
    return "" if effect is None else percent(effect.change)


def interval(effect: Effect | None) -> str:
    if effect is None or effect.low is None or effect.high is None or effect.low == effect.high:
        return ""
    return f"[{percent(effect.low)}, {percent(effect.high)}]"


def percent(change: float) -> str:
    """Formats a relative change, as a factor if it is more than tenfold."""
    if abs(change) < 0.0005:
        return "0.0%"
    return f"{change:+.1%}" if abs(change) < 10 else f"× {1 + change:.3g}"


def verdict(importance: Importance) -> str:
    if importance.best is None:
        return "every candidate failed" if importance.failed else "not tried"
    assert importance.best.effect is not None
    moved = "it also changes measurement code" if importance.best.measures else ""
    return ", ".join(filter(None, (_evidence(importance, importance.best.effect), moved)))


def _evidence(importance: Importance, effect: Effect) -> str:
    """Describes the evidence for an effect. Equal results do not prove that a change has no effect."""
    if effect.equal:
        runs, miss = f"each of {effect.seeds} runs", f"{effect.seeds} runs miss"
        if effect.seeds == 1:
            runs, miss = "its one run", "one run misses"
        return (
            f"the same value in {runs}, although the changed code was used; {miss} an effect that shows in one run in "
            f"five with a probability of {0.8**effect.seeds:.0%}"
        )
    if effect.p is None:
        return "one seed: noise unknown"
    if effect.seeds == 1:
        return "run once, within the baseline's range"
    if importance.critical:
        return f"critical: {_chance(importance)}"
    if importance.beyond_noise:
        return f"beyond the noise, below 5 %: {_chance(importance)}"
    if effect.undecidable:
        return f"{effect.runs} and {effect.seeds} runs are too few for a claim"
    return f"may be chance: {_chance(importance)}"


def _chance(importance: Importance) -> str:
    return f"p {importance.adjusted:.2g} among all comparisons"


def direction(campaign: Campaign, effect: Effect) -> str:
    """Returns whether the metric got worse or better."""
    if effect.change == 0:
        return "same"
    better = (effect.change > 0) == (campaign.task.metric.direction == "max")
    return "better" if better else "worse"


def failures(campaign: Campaign) -> Counter[str]:
    return Counter(str(outcome.failure) for outcome in campaign.outcomes if outcome.failure)


def summary(campaign: Campaign) -> Iterator[tuple[str, str]]:
    """Yields the facts at the top of the report as (name, value) pairs."""
    baseline, outcomes = campaign.baseline, campaign.outcomes
    noise = f"{baseline.noise:.2%} from run to run" if baseline.noise is not None else "one seed: noise unknown"
    if baseline.exact:
        noise = f"none: every run gives the same value, {'whatever the seed' if baseline.varied else 'without a seed'}"
    runs = [run for outcome in outcomes for run in outcome.runs]
    yield "metric", campaign.task.metrics[0]
    yield "baseline", baseline.verdict
    yield "noise", noise
    yield "seeds", ", ".join(map(str, campaign.task.seeds))
    yield "command", campaign.task.command(campaign.task.seeds[0])
    yield "repository", f"{campaign.repository}" + (f", commit {campaign.commit[:12]}" if campaign.commit else "")
    yield (
        "candidates",
        f"{sum(o.tried for o in outcomes)} tried, {sum(not o.tried for o in outcomes)} never took effect or were "
        f"rejected by the code, {len(campaign.space.candidates)} found by rules, {len(failures(campaign))} kinds of "
        "failure",
    )
    if measured := [run for run in runs if run.value is not None]:
        yield "measured", _measured(measured)
    trained = sum(run.seconds for run in (*baseline.runs, *runs))
    beside = sum(run.overhead for run in (*baseline.runs, *runs))
    yield "time", f"{trained:.0f} s in runs, {beside:.0f} s of overhead, up to {campaign.jobs} runs at a time"
    if campaign.model is not None:
        use = campaign.model
        cost = "price unknown" if use.dollars is None else f"${use.dollars:.4f}"
        yield "language model", f"{use.model}, {use.calls} calls, {cost}"
    yield "sandbox", f"{campaign.runner}, packages {campaign.environment or 'none'}"


def _measured(runs: Sequence[RunOutcome]) -> str:
    shared = sum(not run.apart for run in runs)
    differing = sum(run.claimed is not None and run.claimed != run.value for run in runs)
    said = f"in a process that may run changed code and so affect the metric ({shared} of {len(runs)} candidate runs)"
    if not shared:
        said = "without the changed files, from data that the runs left behind (unpickling such data can run code)"
    return said + (f"; {differing} runs themselves reported a different value" if differing else "")


def remark(outcome: CandidateOutcome) -> str:
    """Returns remarks on an outcome. The remarks say whether the candidate replaces a failed candidate, changes
    measurement code, or ran only in part."""
    mended = f"replaces a candidate that failed ({outcome.mended})" if outcome.mended else ""
    moved = (
        f"the measurement may no longer be comparable: this candidate modifies {', '.join(outcome.measures)}"
        if outcome.measures
        else ""
    )
    partly = [] if outcome.failure else sorted({str(place) for run in outcome.runs for place in run.never_ran})
    never = f"parts of the change never ran: {', '.join(partly)}" if partly else ""
    return "; ".join(filter(None, (mended, moved, never)))


def comparisons(campaign: Campaign) -> str:
    compared = sum(outcome.effect is not None for outcome in campaign.outcomes)
    return (
        f"{compared} candidates were compared with the baseline using the exact rank-sum test. 'Critical' and 'beyond "
        "the noise' are adjusted for all comparisons (Benjamini and Hochberg): one such claim in 20 may be false. A "
        "change is the Hodges-Lehmann shift, with a 95 % interval for this comparison alone. A candidate whose first "
        "run is within the baseline's range is run only once. The change of a candidate that ran once is relative to "
        "the baseline's run with the same seed."
    )
