"""Runs a model's roles in one campaign. If the model returns no usable answer or becomes unavailable, the campaign
continues with the candidates found in the code. The report then mentions the problem."""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from xkg.agents.ablation import parsing
from xkg.agents.ablation.candidates import Candidate, Component, Place, Space
from xkg.agents.ablation.mutation import line_replacements
from xkg.agents.ablation.outcomes import (
    Analysis,
    Baseline,
    Campaign,
    CandidateOutcome,
    Importance,
    Lesson,
    Statement,
)
from xkg.agents.ablation.parsing import Function, mutated_files
from xkg.agents.ablation.report import rows
from xkg.agents.ablation.reproduction.plan import readme
from xkg.agents.ablation.roles import material
from xkg.agents.ablation.roles.answers import (
    Draft,
    Drafts,
    Hypotheses,
    Mended,
    Reflection,
    Said,
    Words,
)
from xkg.agents.ablation.roles.hypotheses import Code, joined, objection
from xkg.agents.ablation.task import Task
from xkg.agents.workspace.files.edits import EditError, FileEdit
from xkg.agents.workspace.parsing import SourceReader
from xkg.agents.workspace.questions import Questions
from xkg.errors import AnswerError, BudgetError, ModelUnavailableError
from xkg.llm.client import AnswerType
from xkg.llm.prompt import load_prompt

A = TypeVar("A", bound=AnswerType)

PROMPTS = Path(__file__).parent / "prompts"
_MOST_FUNCTIONS = 150
_MOST_KNOWN = 80
_INVENTIVE, _CAREFUL = 0.8, 0.2
_INVENTING = frozenset({"hypotheses", "candidates"})


class Team:
    """Queries a model in each of its roles, and checks the answers. `texts` contains the baseline's files. `executed`
    contains the lines that the baseline runs (None if unknown). `protected` contains the lines that compute the metric,
    and `techniques` contains the paper's techniques. Only `mended` is thread-safe. `notes` are shown in the report."""

    def __init__(
        self,
        questions: Questions,
        parser: SourceReader,
        task: Task,
        baseline: Baseline,
        texts: Mapping[str, str],
        executed: Mapping[str, Sequence[int]] | None,
        protected: Sequence[Place],
        techniques: Sequence[Component],
        notify: Callable[[str], None],
    ) -> None:
        self._questions, self._parser, self._notify = questions, parser, notify
        self._texts, self._executed, self._protected, self._techniques = texts, executed, protected, techniques
        self._experiment = material.experiment(task, baseline, readme(texts))
        self._functions = self._executed_functions()
        self._names: dict[str, str] = {}
        self._lock = threading.Lock()
        self._lost = False
        self._used: set[str] = set()
        self.notes: list[str] = []
        self.lessons: list[Lesson] = []

    def hypothesised(self, space: Space) -> Space:
        code = Code(self._texts, self._functions, self._executed, self._protected)
        known = (
            f"{n}. {c.name}: {', '.join(map(str, c.places[:2]))}"
            for n, c in enumerate(space.components[:_MOST_KNOWN], 1)
        )
        inputs = {
            "experiment": self._experiment,
            "code": material.executed_code(self._texts, self._executed, self._functions),
            "known": "\n".join(known) or "(nothing)",
            "paper": "\n".join(_technique(n, c) for n, c in enumerate(self._techniques, 1)),
        }
        answer = self._asked("hypotheses", Hypotheses, inputs, "hypotheses", lambda answer: objection(answer, code))
        joint = space if answer is None else joined(space, answer, code, self._techniques)
        if answer is not None:
            refused = len(joint.left_out) - len(space.left_out) - len(answer.gaps)
            self._notify(f"{len(answer.components) - refused} hypotheses with a place in the code, {refused} without")
        self._names = {component.id: component.name for component in joint.components}
        self._used = {candidate.id for candidate in joint.candidates}
        return joint

    def candidates(
        self, component: Component, count: int, outcomes: Sequence[CandidateOutcome], untried: Sequence[Candidate]
    ) -> list[Candidate]:
        """Returns the model's new candidates for a component, if their edits apply and pass the usual checks. Also
        returns candidates in `untried` that the model proposes again."""
        own = [outcome for outcome in outcomes if outcome.candidate.component == component.id]
        advice = [s.text for s in (self.lessons[-1].advice if self.lessons else ()) if s.component == component.id]
        inputs = {
            "experiment": self._experiment,
            "component": material.component(component),
            "source": material.source(component.places, self._functions, self._texts),
            "tried": material.tried(own, self._names),
            "untried": "\n".join(f"- {c.kind}, {c.description}" for c in untried[:12]),
            "advice": "\n".join(advice),
            "count": str(count),
        }
        made: list[Candidate] = []

        def check(answer: Drafts) -> str | None:
            faults = []
            for number, draft in enumerate(answer.candidates[: 2 * count], 1):
                candidate = self._drafted(component, draft)
                if isinstance(candidate, str):
                    faults.append(f"candidate {number}: {candidate}")
            return "; ".join(faults) if faults and len(faults) == len(answer.candidates) else None

        answer = self._asked("candidates", Drafts, inputs, component.name, check)
        again = {candidate.id: candidate for candidate in untried}
        for draft in answer.candidates[: 2 * count] if answer else ():
            candidate = self._drafted(component, draft)
            if isinstance(candidate, Candidate):
                with self._lock:
                    if (new := candidate.id not in self._used) or candidate.id in again:
                        made.append(candidate if new else again.pop(candidate.id))
                    self._used.add(candidate.id)
        return made[:count]

    def mended(self, outcome: CandidateOutcome, component: Component) -> Candidate | None:
        """Returns a candidate that replaces a failed candidate, or None if there is none."""
        run = outcome.runs[-1] if outcome.runs else None
        failed = f"{outcome.failure}: {outcome.problem}" + (f"\n{run.output_end}" if run else "")
        inputs = {
            "experiment": self._experiment,
            "component": material.component(component),
            "source": material.source(outcome.candidate.places, self._functions, self._texts),
            "candidate": f"{outcome.candidate.kind}, {outcome.candidate.description}\n{outcome.diff}",
            "failure": failed,
        }

        def draft(edits: Sequence[FileEdit]) -> Candidate | str:
            old = outcome.candidate
            places = tuple(dict.fromkeys([*old.places, *component.places]))
            return self._candidate(edits, old.model_copy(update={"places": places, "by_model": True}))

        def check(answer: Mended) -> str | None:
            if not answer.possible:
                return None
            made = draft(answer.edits)
            return made if isinstance(made, str) else None

        answer = self._asked("mended", Mended, inputs, outcome.candidate.description, check)
        made = draft(answer.edits) if answer and answer.possible else None
        if not isinstance(made, Candidate):
            return None
        with self._lock:
            if made.id in self._used or made.id == outcome.id:
                return None
            self._used.add(made.id)
        why = " ".join(answer.why.split()) if answer else ""
        return made.model_copy(update={"description": f"{made.description}, fixed: {why}"[:300]})

    def reflect(
        self, number: int, components: Sequence[Component], outcomes: Sequence[CandidateOutcome]
    ) -> dict[str, float]:
        """Asks the model for new component weights after a round, and adds its lessons to `lessons`."""
        visits = {c.id: sum(o.candidate.component == c.id for o in outcomes) for c in components}
        inputs = {
            "experiment": self._experiment,
            "components": "\n".join(
                f"{n}. {c.name}: {c.weight:.2f}, tried {visits[c.id]} times" for n, c in enumerate(components, 1)
            ),
            "tried": material.tried(outcomes, self._names),
        }

        def check(answer: Reflection) -> str | None:
            wrong = [each.component for each in answer.changes if not 1 <= each.component <= len(components)]
            return f"{wrong[0]} is not a number in the list of components" if wrong else None

        answer = self._asked("reflection", Reflection, inputs, f"round {number}", check)
        if answer is None:
            return {}
        advice = tuple(
            Statement(component=components[each.component - 1].id, text=" ".join(each.advice.split())[:400])
            for each in answer.changes
        )
        lessons = tuple(" ".join(lesson.split())[:400] for lesson in answer.lessons[:5])
        self.lessons.append(Lesson(round=number, lessons=lessons, advice=advice))
        return {components[c.component - 1].id: min(1.0, max(0.0, c.weight)) for c in answer.changes}

    def analysed(self, campaign: Campaign) -> Analysis | None:
        """Returns the model's conclusions for the report. Rejects an answer that lists a conclusion as strong without
        sufficient evidence."""
        found = campaign.importances()
        inputs = {
            "experiment": self._experiment,
            "components": "\n".join(material.evidence(n, each) for n, each in enumerate(found, 1)),
            "tried": material.tried(campaign.outcomes, self._names),
            "notes": "\n".join(campaign.notes),
        }

        def check(answer: Words) -> str | None:
            for each in (*answer.strong, *answer.weak):
                if not 1 <= each.component <= len(found):
                    return f"{each.component} is not a number in the list of components"
            weak = [
                found[each.component - 1] for each in answer.strong if not material.holds(found[each.component - 1])
            ]
            if weak:
                return f"the evidence on {weak[0].component.name} is weak ({rows.verdict(weak[0])}): list it under weak"
            return None

        answer = self._asked("analysis", Words, inputs, "analysis", check)
        if answer is None:
            return None
        return Analysis(
            strong=_statements(answer.strong, found),
            weak=_statements(answer.weak, found),
            caveats=tuple(" ".join(text.split()) for text in answer.caveats),
        )

    def _executed_functions(self) -> tuple[Function, ...]:
        python = {path: text for path, text in self._texts.items() if path.endswith(".py")}
        functions = self._parser.of_files(parsing.functions, {"texts": python})
        if self._executed is not None:
            ran = {path: set(lines) for path, lines in self._executed.items()}
            functions = tuple(
                f for f in functions if any(line in ran.get(f.path, ()) for line in range(f.body_line, f.end_line + 1))
            )
        return functions[:_MOST_FUNCTIONS]

    def _drafted(self, component: Component, draft: Draft) -> Candidate | str:
        description = " ".join(draft.description.split())[:200]
        if not description:
            return "it has no description"
        return self._candidate(
            draft.edits,
            Candidate(
                component=component.id, kind=draft.kind, value=" ".join(draft.value.split())[:200],
                baseline_value=" ".join(draft.baseline_value.split())[:200], places=component.places,
                description=description, replacements=(), by_model=True,
            ),
        )  # fmt: skip

    def _candidate(self, edits: Sequence[FileEdit], without_changes: Candidate) -> Candidate | str:
        texts = self._texts
        try:
            changed = self._parser.applied(edits, texts)
        except EditError as error:
            return str(error)
        made = (each for path, text in changed.items() for each in line_replacements(path, texts.get(path, ""), text))
        candidate = without_changes.model_copy(update={"replacements": tuple(made)})
        return mutated_files(self._parser, candidate, texts, self._protected)[0].problem or candidate

    def _asked(
        self, name: str, kind: type[A], inputs: Mapping[str, str], about: str, check: Callable[[A], str | None]
    ) -> A | None:
        if self._lost:
            return None
        try:
            prompt, temperature = load_prompt(PROMPTS / f"{name}.md"), _INVENTIVE if name in _INVENTING else _CAREFUL
            return self._questions.ask(prompt, kind, inputs, about=about, check=check, temperature=temperature)
        except (BudgetError, ModelUnavailableError) as error:
            with self._lock:
                if not self._lost:
                    self._lost = True
                    self.notes.append(
                        f"the model was not asked again ({error}), and the campaign continued without it; run the same "
                        "command again to continue with the model"
                    )
        except AnswerError as error:
            with self._lock:
                self.notes.append(f"the model returned no usable answer ({error})")
        return None


def _technique(number: int, component: Component) -> str:
    why = "; ".join(component.reasons)
    places = ", ".join(map(str, component.places[:2])) or "no place found in this code"
    return f"{number}. {component.name}: {component.about} [{places}; {why}]"


def _statements(said: Sequence[Said], found: Sequence[Importance]) -> tuple[Statement, ...]:
    return tuple(
        Statement(component=found[each.component - 1].component.name, text=" ".join(each.text.split())) for each in said
    )
