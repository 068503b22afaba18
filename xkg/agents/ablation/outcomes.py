"""What runs gave: of the baseline, of each candidate, and of a whole campaign."""

from xkg.agents.ablation.candidates import Candidate, Component, Place, Space
from xkg.agents.ablation.effects import CRITICAL, SIGNIFICANT, Effect, holm
from xkg.agents.ablation.failures import Failure
from xkg.agents.ablation.task import Task
from xkg.value import Value


class RunOutcome(Value):
    """One run of a command: the primary metric first, or why there is none. `seconds` is the run, `overhead` what was
    spent around it. `executed` are the lines that a traced run ran, by file, `opened` the files that it opened.
    `never_ran` are places of a candidate of which no line ran, `reached` whether any place ran; None
    where that is not known (a configuration file, a trace that gave up). `rewritten` are files of the repository that
    it wrote over, `touched` those that measure and that it wrote over or removed. `apart`: no edited file was there
    when the metric was computed; `claimed` is what the run itself reported then.
    `left_at` is where what a setup fetched begins in its file."""

    seed: int
    command: str
    values: tuple[float | None, ...] = ()
    seconds: float = 0.0
    overhead: float = 0.0
    memory_mb: float = 0.0
    failure: Failure | None = None
    problem: str | None = None
    output_end: str = ""
    executed: dict[str, tuple[int, ...]] | None = None
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
    """`noise` is the standard deviation over seeds relative to the mean; `exact`: all runs gave the same value, and
    other seeds, if the code has any, change nothing. `one_seed` says why the noise is not known; '' if it is.
    `varied` are the seeds that the runs after the first had others of."""

    runs: tuple[RunOutcome, ...]
    verdict: str
    reproduced: bool | None
    off: float | None
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
    """A change that makes the baseline run: a version of its workspace, named by `commit`, with the failure that it
    answers. `in_metric` is what of it is in code that computes the metric."""

    commit: str
    cause: str
    reason: str
    diff: str
    failure: Failure
    problem: str
    in_metric: tuple[str, ...] = ()


class Statement(Value):
    """What an experiment says of one component, in words."""

    component: str
    text: str


class Analysis(Value):
    """A model's words on what was measured. `strong` rests on evidence that holds, `weak` does not."""

    summary: str
    strong: tuple[Statement, ...]
    weak: tuple[Statement, ...]
    caveats: tuple[str, ...]


class Lesson(Value):
    """What a model made of a round, and what the next one should change."""

    round: int
    lessons: tuple[str, ...]
    advice: tuple[Statement, ...]


class ModelUse(Value):
    """What a run asked of language models: `dollars` None where a price is unknown."""

    model: str
    calls: int
    dollars: float | None


_SAYS_SOMETHING: frozenset[Failure] = frozenset({"not a number", "time", "memory", "disk", "output"})


class CandidateOutcome(Value):
    """`round` counts from 1, `commit` names the version with the mutation. Where `failure` is set there
    is no effect. `no_effect` says that the mutation changes nothing that is measured. `why` it was chosen; `mended` is
    the failure of the candidate that this one replaces. `measures` is code that it changes and that measures as well:
    with it, the ruler may have moved."""

    candidate: Candidate
    round: int
    commit: str | None
    diff: str
    runs: tuple[RunOutcome, ...] = ()
    failure: Failure | None = None
    problem: str | None = None
    effect: Effect | None = None
    why: str = ""
    mended: str = ""
    measures: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.candidate.id

    @property
    def tried(self) -> bool:
        """Whether it says something of its component: it gave a value, or diverged, or did not end. A change that was
        not in force, or that the code does not take, says nothing."""
        return self.failure is None or self.failure in _SAYS_SOMETHING

    @property
    def no_effect(self) -> bool:
        return self.effect is not None and self.effect.nothing_changed

    @property
    def seconds(self) -> float:
        return sum(run.seconds for run in self.runs)


class Importance(Value):
    """What is known of a component: the candidate that changed most, with its effect; `adjusted` is its p value after
    Holm's adjustment for all candidates that were compared."""

    component: Component
    best: CandidateOutcome | None
    tried: int
    failed: int
    adjusted: float | None = None

    @property
    def beyond_noise(self) -> bool:
        """Whether the effect is one among all comparisons: runs repeat exactly, or the adjusted p value is small."""
        effect = self.best.effect if self.best else None
        if effect is None or not effect.beyond_noise:
            return False
        return effect.exact or (self.adjusted is not None and self.adjusted <= SIGNIFICANT)

    @property
    def critical(self) -> bool:
        return self.beyond_noise and self.best is not None and strength(self.best.effect) >= CRITICAL


class Campaign(Value):
    """A whole run. `wall_seconds` is from start to end of the process that finished it; `hash` of the environment;
    `notes` are for a person."""

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
    wall_seconds: float
    jobs: int
    notes: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    analysis: Analysis | None = None
    model: ModelUse | None = None

    def importances(self) -> list[Importance]:
        """By component, the most important first; those without an effect last."""
        compared = [o for o in self.outcomes if o.effect is not None]
        adjusted = dict(
            zip([o.id for o in compared], holm([o.effect.p if o.effect else None for o in compared]), strict=True)
        )
        found = []
        for component in self.space.components:
            own = [o for o in self.outcomes if o.candidate.component == component.id]
            worked = [o for o in own if o.effect is not None]
            best = max(worked, key=lambda o: (strength(o.effect), o.candidate.kind == "toggle"), default=None)
            found.append(
                Importance(
                    component=component, best=best, tried=sum(o.tried for o in own),
                    failed=sum(o.failure is not None for o in own),
                    adjusted=adjusted.get(best.id) if best else None,
                )
            )  # fmt: skip
        return sorted(found, key=lambda i: (i.best is None, -strength(i.best.effect) if i.best else 0.0, -i.tried))


def strength(effect: Effect | None) -> float:
    return abs(effect.change) if effect else 0.0
