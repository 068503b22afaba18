"""Defines the outcomes of runs, candidates and whole campaigns."""

from collections import Counter

from xkg.agents.ablation.candidates import NOT_RUN, Candidate, Component, Place, Space
from xkg.agents.ablation.effects import CRITICAL, SIGNIFICANT, Effect, adjusted
from xkg.agents.ablation.failures import Failure
from xkg.agents.ablation.task import Task
from xkg.value import Value


class RunOutcome(Value):
    """The outcome of one run of a command: its metrics (primary metric first), or why it has none. `seconds` is the
    duration of the run, and `overhead` is the time spent before and after it. For a traced run, `executed` lists the
    executed lines by file, and `opened` lists the files that the run opened. `printed` is the file and line that
    printed the metric. `never_ran` lists the candidate's places in which no line ran. `reached` tells whether any place
    ran, or is None if the place is in a configuration file or tracing gave up. `rewritten` lists repository files that
    the run overwrote. `touched` lists files with measurement code that the run overwrote or removed. `apart` means that
    no edited file was present when the metric was computed. In that case, `claimed` is the metric that the run itself
    reported. `left_at` is the byte offset of the setup's archive in the file that contains it."""

    seed: int
    command: str
    values: tuple[float | None, ...] = ()
    seconds: float = 0.0
    overhead: float = 0.0
    failure: Failure | None = None
    problem: str | None = None
    output_end: str = ""
    executed: dict[str, tuple[int, ...]] | None = None
    printed: tuple[str, int] | None = None
    opened: tuple[str, ...] | None = None
    reached: bool | None = None
    never_ran: tuple[Place, ...] = ()
    rewritten: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    apart: bool = False
    claimed: float | None = None
    left_at: int | None = None

    @property
    def value(self) -> float | None:
        return self.values[0] if self.values and self.failure is None else None


class Baseline(Value):
    """The baseline's runs. `noise` is the standard deviation over seeds relative to the mean. `exact` means that all
    runs yielded the same value, regardless of the seed. `one_seed` says why the noise is unknown, or is empty. `varied`
    lists the seeds that later runs changed."""

    runs: tuple[RunOutcome, ...]
    verdict: str
    noise: float | None
    exact: bool
    one_seed: str = ""
    varied: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(run.value for run in self.runs if run.value is not None)

    @property
    def seconds(self) -> float:
        return sum(run.seconds for run in self.runs) / len(self.runs)


class Repair(Value):
    """A change that makes the baseline run. `commit` is the repair's workspace version, and `failure` is the failure
    that the repair fixes. `in_metric` lists changed parts of the code that computes the metric."""

    commit: str
    cause: str
    reason: str
    diff: str
    failure: Failure
    problem: str
    in_metric: tuple[str, ...] = ()


class Statement(Value):
    """A conclusion about one component."""

    component: str
    text: str


class Analysis(Value):
    """A model's conclusions from the measurements. `strong` lists conclusions with strong evidence, and `weak` lists
    all others."""

    strong: tuple[Statement, ...]
    weak: tuple[Statement, ...]
    caveats: tuple[str, ...]


class Lesson(Value):
    """A model's lessons from a round, and its advice for the next round."""

    round: int
    lessons: tuple[str, ...]
    advice: tuple[Statement, ...]


class ModelUse(Value):
    """The language model of a run, with its calls and costs. `dollars` is None if a price is unknown."""

    model: str
    calls: int
    dollars: float | None


_SAYS_SOMETHING: frozenset[Failure] = frozenset({"not a number", "time", "memory", "disk", "output"})


class CandidateOutcome(Value):
    """A candidate's result. `round` counts from 1, and `commit` is the version with the mutation. `effect` is None if
    `failure` is set. `no_effect` means that the mutation does not change the metric. `mended` is the failure of the
    candidate that this candidate replaces. `measures` lists changed code that also computes the metric, so the
    measurement itself may have changed."""

    candidate: Candidate
    round: int
    commit: str | None
    diff: str
    runs: tuple[RunOutcome, ...] = ()
    failure: Failure | None = None
    problem: str | None = None
    effect: Effect | None = None
    mended: str = ""
    measures: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.candidate.id

    @property
    def tried(self) -> bool:
        """Returns whether the outcome reveals anything about its component: a run yielded a value, diverged or exceeded
        a limit. A change reveals nothing if it did not take effect or if the code rejected it."""
        return self.failure is None or self.failure in _SAYS_SOMETHING

    @property
    def no_effect(self) -> bool:
        return self.effect is not None and self.effect.equal


class Importance(Value):
    """The result for a component. `best` is the candidate with the largest effect, and `adjusted` is its p-value,
    adjusted for all compared candidates."""

    component: Component
    best: CandidateOutcome | None
    tried: int
    failed: int
    adjusted: float | None = None

    @property
    def beyond_noise(self) -> bool:
        """Returns whether the effect is significant after adjusting for all comparisons."""
        return self.adjusted is not None and self.adjusted <= SIGNIFICANT

    @property
    def critical(self) -> bool:
        return self.beyond_noise and self.best is not None and strength(self.best.effect) >= CRITICAL


class Campaign(Value):
    """A complete campaign. `environment` is the hash of the installed packages. `notes` are shown to readers of the
    report."""

    id: str
    task: Task
    repository: str
    commit: str | None
    baseline: Baseline
    space: Space
    outcomes: tuple[CandidateOutcome, ...]
    runner: str
    environment: str
    when: str
    jobs: int
    notes: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    analysis: Analysis | None = None
    model: ModelUse | None = None

    @property
    def unmeasured(self) -> str:
        """Returns why no component was measured, or '' if one was."""
        if any(outcome.effect is not None for outcome in self.outcomes):
            return ""
        failures = Counter(str(outcome.failure) for outcome in self.outcomes)
        why = [f"{count} failed: {cause}" for cause, count in failures.items()]
        left = [f"{each.name} ({each.place}): {each.reason}" for each in self.space.left_out if each.reason != NOT_RUN]
        known = "; ".join(why or left[:5] or ["the code that runs has no settings"])
        look = "" if self.model else "; repeat the command with --llm MODEL to look further"
        return f"no component was measured, only the baseline ({known}){look}"

    def importances(self) -> list[Importance]:
        """Returns the components' results, most important first. Results without an effect come last."""
        compared = {o.id: o.effect.p for o in self.outcomes if o.effect is not None}
        p = dict(zip(compared, adjusted([*compared.values()]), strict=True))
        found = []
        for component in self.space.components:
            own = [o for o in self.outcomes if o.candidate.component == component.id]
            worked = [o for o in own if o.effect is not None]
            best = max(worked, key=lambda o: (strength(o.effect), o.candidate.kind == "toggle"), default=None)
            found.append(
                Importance(
                    component=component, best=best, tried=sum(o.tried for o in own),
                    failed=sum(o.failure is not None for o in own),
                    adjusted=p.get(best.id) if best else None,
                )
            )  # fmt: skip
        return sorted(found, key=lambda i: (i.best is None, -strength(i.best.effect) if i.best else 0.0, -i.tried))


def strength(effect: Effect | None) -> float:
    return abs(effect.change) if effect else 0.0
