"""Defines the result of a run."""

from xkg.agents.codification.fields import Mode
from xkg.agents.codification.verdict import MEANING, Class
from xkg.errors import XkgError
from xkg.value import Value


class CodificationResult(Value):
    """The result of a run. `result` is one of four classes. A is error-free and better than the starter, B is
    error-free, C has errors, and D means that nothing was implemented. `faults` lists the reasons for class C. `doubts`
    lists unproven claims of class A or B. `stopped` says why the run ended without an accepted answer. `dollars` is
    None if a price is unknown."""

    run: str
    mode: Mode
    result: Class
    metric_before: float | None
    metric_after: float | None
    steps: int
    edits: int
    changed_files: tuple[str, ...]
    faults: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    stopped: str | None
    dollars: float | None
    expert_calls: int
    notes: tuple[str, ...]
    report: str

    @property
    def title(self) -> str:
        """Returns one line with the class, its meaning, and any doubts."""
        meaning = MEANING[self.result]
        if not self.doubts or self.result not in ("A", "B"):
            return f"{self.result}: {meaning}"
        return f"{self.result}, unproven: {meaning}, but {'; '.join(self.doubts)}"

    @property
    def failure(self) -> XkgError | None:
        """Returns an error if the run did not produce working code, and None otherwise."""
        return None if self.result in ("A", "B") else XkgError(f"no working code (class {self.result}); see the report")

    def __str__(self) -> str:
        before, after = ("none" if value is None else f"{value:g}" for value in (self.metric_before, self.metric_after))
        cost = "price unknown" if self.dollars is None else f"${self.dollars:.2f}"
        lines = [
            self.title,
            f"  run {self.run}: {self.steps} steps, {self.edits} edits to {len(self.changed_files)} files, {cost}",
            f"  metric {before} -> {after}",
            *(f"  not done: {fault}" for fault in self.faults),
            *([f"  stopped: {self.stopped}"] if self.stopped else []),
            f"  report: {self.report}",
        ]
        if self.result in ("A", "B"):
            lines.append(f"  run `xkg implement apply {self.run}` to apply the changes to your repository")
        return "\n".join(lines)
