"""Parses a repository's code and its changes in the confined process, to keep untrusted source out of this process."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from xkg.agents.ablation import mutation
from xkg.agents.ablation.candidates import Candidate, Component, Place, Space
from xkg.agents.ablation.failures import Failure
from xkg.agents.ablation.mutation import ChangedPlace
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.ablation.space.seeds import Seeds, find_seeds
from xkg.agents.ablation.space.space import find_space
from xkg.agents.workspace.parsing import SourceReader, Texts, Without, marked
from xkg.agents.workspace.program.metric import Metric
from xkg.agents.workspace.program.stated_commands import stated_commands
from xkg.build.code.settings import Setting
from xkg.build.parsing.typed_tasks import Mark, tasks
from xkg.sandbox.isolation.confined_worker import WorkerDiedError
from xkg.value import Value


class ParsedSpace(Value):
    """A repository's candidate space. `protected` contains the lines that compute the metric. `shared` contains
    functions that the protected lines and the method may both call. `unparsed` lists files that could not be parsed."""

    space: Space
    protected: tuple[Place, ...]
    shared: tuple[Place, ...]
    unparsed: tuple[str, ...]


class Function(Value):
    """A function in the repository. Its lines are 1-based and inclusive, and include decorators. Lines from `body_line`
    onwards run only if the function is called."""

    path: str
    name: str
    start_line: int
    end_line: int
    body_line: int

    @property
    def place(self) -> Place:
        return Place(path=self.path, start_line=self.start_line, end_line=self.end_line, symbol=self.name)


class Mutated(Value):
    """A checked candidate. The candidate must not run if `failure` is set. `places` are the changed lines. `commit` is
    a digest of the changed files, or None for a change to the command. `measures` lists changed code that computes the
    metric and also does something else."""

    diff: str = ""
    failure: Failure | None = None
    problem: str | None = None
    places: tuple[ChangedPlace, ...] = ()
    commit: str | None = None
    measures: tuple[str, ...] = ()


def space(
    mark: Mark,
    texts: Texts,
    settings: Sequence[Setting],
    techniques: Sequence[Component],
    command: str,
    metric: Metric,
    executed: Mapping[str, frozenset[int]] | None,
    opened: frozenset[str] | None,
    printed: tuple[str, int] | None,
    without: Without,
) -> ParsedSpace:
    """Calls `find_space`, but skips files that do not parse."""
    sources = list(python_sources(mark, texts, without))
    mark("")
    found, protected, shared = find_space(
        sources,
        settings,
        texts,
        metric,
        techniques,
        command=command,
        executed=executed,
        opened=opened,
        printed=printed,
    )
    unparsed = sorted({path for path in texts if path.endswith(".py")} - {source.path for source in sources})
    return ParsedSpace(space=found, protected=tuple(protected), shared=tuple(shared), unparsed=tuple(unparsed))


def seeds(mark: Mark, texts: Texts, settings: Sequence[Setting], command: str, without: Without) -> Seeds:
    """Calls `find_seeds`, but skips files that do not parse."""
    return find_seeds(list(python_sources(mark, texts, without)), settings, texts, command)


def functions(mark: Mark, texts: Texts, without: Without) -> tuple[Function, ...]:
    found = []
    for source in python_sources(mark, texts, without):
        for name, node in source.functions:
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            end = node.end_lineno or node.lineno
            body = node.body[0].lineno
            found.append(Function(path=source.path, name=name, start_line=start, end_line=end, body_line=body))
    return tuple(found)


def commands(_: Mark, texts: Texts, paths: frozenset[str], keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(stated_commands(texts, paths, keys))


def mutated(_: Mark, texts: Texts, candidate: Candidate, protected: Sequence[Place]) -> tuple[Mutated, dict[str, str]]:
    """Checks a candidate, and returns the result and the new text of the changed files."""
    try:
        after = mutation.apply(candidate.replacements, texts)
    except mutation.MutationError as error:
        return Mutated(failure="does not apply", problem=str(error)), {}
    diff = mutation.unified_diff(texts, after)
    if (problem := mutation.refusal(candidate, texts, after, protected)) is not None:
        return Mutated(diff=diff, failure="refused", problem=problem), after
    return Mutated(diff=diff, places=tuple(mutation.changed_places(texts, after))), after


def python_sources(mark: Mark, texts: Texts, without: Without) -> Iterator[PythonSource]:
    """Yields the Python files that parse."""
    for path, text in marked(mark, {path: text for path, text in texts.items() if path.endswith(".py")}, without):
        with suppress(SyntaxError):
            yield PythonSource(path, text)


TASKS = tasks(space, seeds, functions, commands, mutated)


def mutated_files(
    reader: SourceReader, candidate: Candidate, texts: Texts, protected: Sequence[Place]
) -> tuple[Mutated, dict[str, str]]:
    """Applies a candidate and checks it with `refusal`. Returns the result and the new text of the changed files."""
    changed = {r.path: texts[r.path] for r in candidate.replacements if r.path in texts}
    try:
        return reader.ask(mutated, texts=changed, candidate=candidate, protected=protected)
    except WorkerDiedError as died:
        return Mutated(failure="refused", problem=f"it cannot be parsed ({died.reason})"), {}
