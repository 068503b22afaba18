"""Asks a confined process for what is in a repository's code and for what a change makes of it: neither its parsers nor
those of the standard library read untrusted source in this process."""

from collections.abc import Mapping, Sequence

from xkg.agents.ablation.candidates import Candidate, Component, Place, Replacement, Space
from xkg.agents.ablation.changed_code import ChangedPlace, NewImport
from xkg.agents.ablation.failures import Failure
from xkg.agents.workspace.edits import FileEdit
from xkg.agents.workspace.metric import Metric
from xkg.agents.workspace.parsing.client import SourceReader
from xkg.build.code.settings import Setting
from xkg.sandbox.isolation.confined_worker import WorkerDiedError
from xkg.value import Value


class ParsedSpace(Value):
    """`protected` are the lines that compute the metric, `shared` the functions that these call and the method may too,
    `unparsed` the files that were left out."""

    space: Space
    protected: tuple[Place, ...]
    shared: tuple[Place, ...]
    unparsed: tuple[str, ...]


class Function(Value):
    """A function of the repository: 1-based inclusive lines, its decorators included. From `body_line` on lines run
    only where it is called."""

    path: str
    name: str
    start_line: int
    end_line: int
    body_line: int
    source: str

    @property
    def place(self) -> Place:
        return Place(path=self.path, start_line=self.start_line, end_line=self.end_line, symbol=self.name)


class MutatedFiles(Value):
    """`after` are the files that change, with their new text; with a `failure` the candidate must not be run. `places`
    are what differs in them, `imports` those that are new."""

    after: dict[str, str]
    diff: str
    failure: Failure | None
    problem: str | None
    places: tuple[ChangedPlace, ...] = ()
    imports: tuple[NewImport, ...] = ()


class EditedFiles(Value):
    """The files that edits change, and the same change as replacements of the texts before."""

    changed: dict[str, str]
    replacements: tuple[Replacement, ...]
    diff: str


class _Functions(Value):
    functions: tuple[Function, ...]


class SourceParser(SourceReader):
    """The reader of a campaign."""

    modules = ("xkg.agents.ablation.parsing.tasks",)

    def space(
        self,
        texts: Mapping[str, str],
        settings: Sequence[Setting],
        techniques: Sequence[Component],
        *,
        given: Sequence[str],
        metric_keys: Sequence[str],
        metric: Metric,
        executed: Mapping[str, Sequence[int]] | None,
    ) -> ParsedSpace:
        """As `find_space`, of the files that parse. Raises `UnsafeInputError` for sources that exceed the bounds."""
        payload = {
            "texts": dict(texts),
            "settings": [setting.model_dump(mode="json") for setting in settings],
            "techniques": [technique.model_dump(mode="json") for technique in techniques],
            "given": list(given),
            "metric_keys": list(metric_keys),
            "metric": metric.model_dump(mode="json"),
            "executed": None if executed is None else {path: list(lines) for path, lines in executed.items()},
        }
        parsed, deadly = self.of_files("space", payload, ParsedSpace, (texts,))
        return parsed.model_copy(
            update={"unparsed": (*parsed.unparsed, *(path for path in deadly if path.endswith(".py")))}
        )

    def functions(self, texts: Mapping[str, str]) -> tuple[Function, ...]:
        """The functions of the Python files that parse, by path and line. Raises `UnsafeInputError`."""
        return self.of_files("functions", {"texts": dict(texts)}, _Functions, (texts,))[0].functions

    def mutated(self, candidate: Candidate, texts: Mapping[str, str], protected: Sequence[Place]) -> MutatedFiles:
        """What a candidate makes of the files, checked as `refusal` does."""
        payload = {
            "texts": {r.path: texts[r.path] for r in candidate.replacements if r.path in texts},
            "candidate": candidate.model_dump(mode="json"),
            "protected": [place.model_dump(mode="json") for place in protected],
        }
        try:
            return self.answer("mutate", payload, MutatedFiles)
        except WorkerDiedError as died:
            return MutatedFiles(after={}, diff="", failure="refused", problem=f"it cannot be parsed ({died.reason})")

    def edited(self, edits: Sequence[FileEdit], texts: Mapping[str, str]) -> EditedFiles:
        """What edits make of the files. Raises `EditError` where they do not apply."""
        return self.of_edits("edit", edits, texts, EditedFiles)
