"""Checks candidates before they are run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xkg.agents.ablation.candidates import COMMAND, Candidate, Place
from xkg.agents.ablation.mutation import apply
from xkg.agents.ablation.parsing import Mutated, mutated_files
from xkg.agents.ablation.running.bench import Bench
from xkg.agents.ablation.space.exclusions import named_by, surely_measures
from xkg.agents.workspace.operations import digest
from xkg.agents.workspace.parsing import SourceReader


@dataclass(frozen=True)
class Mutations:
    """Applies candidates to a baseline with the files in `texts`. `protected` contains the lines that compute the
    metric. `shared` contains the functions that these lines call."""

    parser: SourceReader
    bench: Bench
    texts: Mapping[str, str]
    protected: Sequence[Place]
    shared: Sequence[Place]

    def decided_by(self, candidate: Candidate) -> dict[str, object]:
        """Returns the inputs, other than the code, that determine whether a candidate is accepted."""
        kept = [str(place) for place in (*self.protected, *self.shared)]
        return {"candidate": candidate.id, "protected": kept, "environment": self.bench.environment.hash}

    def made(self, candidate: Candidate) -> Mutated:
        """Applies and checks a candidate. Rejects candidates that change pure measurement code."""
        if all(change.path == COMMAND for change in candidate.replacements):
            command = apply(candidate.replacements, {COMMAND: self.bench.task.run})[COMMAND]
            return Mutated(diff=f"-{self.bench.task.run}\n+{command}\n")
        # candidates found by rules have already passed these checks
        protected = self.protected if candidate.by_model else ()
        made, after = mutated_files(self.parser, candidate, self.texts, protected)
        if made.failure is not None:
            return made
        parts = self._evaluation_parts(candidate, after)
        run = self.bench.task.run
        if surely := [part for part in parts if surely_measures(part) and not named_by(part, run)]:
            problem = f"it changes code that only takes measurements: {'; '.join(surely)}"
            return Mutated(diff=made.diff, failure="refused", problem=problem)
        measures = (*parts, *self._called_by_the_metric(candidate))
        return made.model_copy(update={"commit": digest(after), "measures": measures})

    def _evaluation_parts(self, candidate: Candidate, after: Mapping[str, str]) -> tuple[str, ...]:
        # Candidates found by rules affect only the changed files. A model may also reassign names in other files.
        before = self.texts if candidate.by_model else {path: self.texts[path] for path in after}
        changed = self.parser.evaluation_changes(before, {**before, **after}, self.bench.task.metric)
        return changed if candidate.by_model else tuple(part for part in changed if not part.endswith(")"))

    def _called_by_the_metric(self, candidate: Candidate) -> list[str]:
        return [
            f"{place}, which the metric's code calls"
            for place in self.shared
            if any(place.meets(own) for own in candidate.places)
        ]
