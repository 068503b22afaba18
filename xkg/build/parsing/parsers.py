"""Parses papers and repositories in a sandboxed process (`xkg.sandbox.isolation.confined_worker`), which the first
request starts. The current process reads the files, within a size limit, and validates the answers."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from xkg.build.code.codebase import DEADLY, Codebase, Module, SkipReason, is_tangled
from xkg.build.paper.document import Document
from xkg.build.paper.read import paper_on_disk
from xkg.build.parsing.paper_exchange import described, serve_files
from xkg.build.parsing.source_kind import SourceKind
from xkg.build.parsing.typed_tasks import answer_of, arguments, named
from xkg.build.repositories.checkout import Checkout
from xkg.errors import UnsafeInputError
from xkg.model import symbol_id
from xkg.sandbox.isolation.confined_worker import Bounds, ConfinedWorker, Reason, WorkerDiedError
from xkg.text.plural import plural

T = TypeVar("T")
V = TypeVar("V", bound=BaseModel)

_TASKS = "xkg.build.parsing.tasks"

PAPER = Bounds(step_seconds=60, seconds=360)
REPOSITORY = Bounds(step_seconds=10, seconds=600)
MOST_DEADLY = 5
"""Maximum number of files in a repository that may crash the parsing process. After each crash, all other files are
parsed again."""
_IN_WORDS: dict[Reason, str] = {
    "too-slow": "it takes too long to parse",
    "out-of-memory": "it takes too much memory to parse",
    "crashed": "the parser crashed",
}
_ELSEWHERE: Mapping[SkipReason, tuple[str, str]] = {
    "submodule": ("submodule", "to read it, pass its own address as the repository"),
    "lfs-pointer": ("Git LFS pointer", "clone the repository, run git lfs pull, and pass that folder"),
}


class Parsers:
    """Sends requests to the parsing process, which never outlives this object. Thread-safe. `tasks` lists additional
    modules whose `TASKS` the process may run (`xkg.build.parsing.typed_tasks.tasks`)."""

    def __init__(self, paper: Bounds = PAPER, repository: Bounds = REPOSITORY, tasks: Sequence[str] = ()) -> None:
        self._worker = ConfinedWorker((_TASKS, *tasks))
        self._paper, self._repository = paper, repository

    def start(self) -> None:
        """Starts the process and its imports without waiting for them."""
        self._worker.start()

    def close(self) -> None:
        """Ends the process. Nothing can be parsed after that."""
        self._worker.close()

    def __enter__(self) -> "Parsers":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def paper(self, path: Path) -> Document:
        """Parses a paper like `parse_paper`. Also raises `UnsafeInputError` if the paper exceeds the limits."""
        return self._of_paper("paper", path, Document)

    def source_kind(self, path: Path) -> SourceKind:
        """Works like the function `source_kind`. Also raises `UnsafeInputError` if the source exceeds the limits."""
        return self._of_paper("source-kind", path, SourceKind)

    def _of_paper(self, task: str, path: Path, kind: type[V]) -> V:
        source = paper_on_disk(path)
        try:
            answer = self._worker.call(task, described(source), self._paper, lambda names: serve_files(source, names))
            return kind.model_validate_json(answer)
        except WorkerDiedError as died:
            raise UnsafeInputError(_cannot(str(path), died.reason, died.detail)) from died
        except ValueError as error:
            raise UnsafeInputError(_cannot(str(path), "crashed", "its answer is not a paper")) from error

    def repository(self, checkout: Checkout) -> Codebase:
        """Parses a repository like `parse_repository`, but skips files that kill the parsing process. In `skipped`,
        these files have the reason too-slow, out-of-memory or crashed.

        Also raises `UnsafeInputError` if there are too many such files or the files exceed the limits in total."""
        paths = {f.path for f in checkout.files}
        attempt = partial(self._parsed, checkout)
        return without_deadly(checkout.repository.id, paths, self._repository, attempt)[0]

    def ask(self, task: Callable[..., T], bounds: Bounds, **given: object) -> T:
        """Runs a function from `tasks` in the sandboxed process and returns its answer. Raises `WorkerDiedError` if the
        answer is missing or could not come from this function."""
        answer = self._worker.call(named(task), arguments(given), bounds)
        try:
            return answer_of(task, answer)
        except ValueError as error:
            raise WorkerDiedError("crashed", "", "its answer cannot be read") from error

    def _parsed(self, checkout: Checkout, without: Mapping[str, Reason], bounds: Bounds) -> Codebase:
        modules: list[Module] = []
        payload = {
            "repository": checkout.repository.model_dump(mode="json"),
            "files": [list(file) for file in checkout.files],
            "without": dict(without),
        }
        answer = self._worker.call(
            "repository",
            payload,
            bounds,
            lambda paths: (content for _, content in checkout.read(paths)),
            lambda data: modules.append(Module.model_validate_json(data)),
        )
        try:
            codebase = Codebase.model_validate_json(answer).model_copy(
                update={
                    "repository": checkout.repository,
                    "files": tuple(file.path for file in checkout.files),
                    "modules": tuple(modules),
                }
            )
            _require_consistent(codebase)
        except ValueError as error:
            raise WorkerDiedError("crashed", "", "its answer is not a parsed repository") from error
        return codebase


def without_deadly(
    name: str,
    paths: Collection[str],
    bounds: Bounds,
    attempt: Callable[[Mapping[str, Reason], Bounds], T],
    known: Mapping[str, Reason] = {},
) -> tuple[T, Mapping[str, Reason]]:
    """Repeats `attempt` until it succeeds, each time without the files that have killed the process. Files in `known`
    are excluded from the start. Returns the result, and the excluded files with reasons. Raises `UnsafeInputError` if
    there are too many excluded files, if the process dies for another reason, or if the files exceed the limits in
    total."""
    until = time.monotonic() + bounds.seconds
    without = dict(known)
    while True:
        try:
            return attempt(without, replace(bounds, seconds=max(1.0, until - time.monotonic()))), without
        except WorkerDiedError as died:
            if died.at not in paths or died.at in without:
                raise UnsafeInputError(_cannot(name, died.reason, died.detail)) from died
            without[died.at] = died.reason
            if len(without) > MOST_DEADLY or time.monotonic() > until:
                raise UnsafeInputError(
                    f"{name} cannot be parsed: too many files crash the parser ({', '.join(without)[:500]}); pass the "
                    "folder that contains only the code"
                ) from died


def deadly(codebase: Codebase) -> str:
    """Returns a summary of the files that killed the parsing process, or '' if there are none."""
    return "; ".join(
        f"{skipped.count} skipped as {skipped.reason}: {', '.join(skipped.examples)}"
        for skipped in codebase.skipped
        if skipped.reason in DEADLY
    )


def elsewhere(codebase: Codebase) -> Iterator[str]:
    """Yields lines for the user: one with a remedy for each kind of file that the repository refers to but lacks, and
    one for files with syntax errors."""
    for skipped in codebase.skipped:
        if (words := _ELSEWHERE.get(skipped.reason)) is not None:
            kind, remedy = words
            some = _some(skipped.examples, skipped.count)
            yield f"{plural(skipped.count, kind)} in the repository not read: {some}; {remedy}"
    if broken := [module.path for module in codebase.modules if module.broken and module.language == "python"]:
        yield f"{plural(len(broken), 'file')} with syntax errors, read only in part: {_some(broken[:5], len(broken))}"


def _some(examples: Sequence[str], count: int) -> str:
    return ", ".join(examples) + (", …" if count > len(examples) else "")


def _cannot(name: str, reason: Reason, detail: str) -> str:
    explanation = f" ({detail})" if detail else ""
    return f"{name} cannot be parsed: {_IN_WORDS[reason]}{explanation}; use another format or leave that part out"


def _require_consistent(codebase: Codebase) -> None:
    """Raises `ValueError` for an answer that no parser would return, for example with unknown files or inconsistent
    ids."""
    paths, seen, identity = set(codebase.files), set[str](), codebase.repository.id
    for module in codebase.modules:
        if module.path not in paths or module.path in seen or not module.symbols or is_tangled(module):
            raise ValueError(f"unexpected module {module.path!a}")
        seen.add(module.path)
        lines = module.text.count("\n") + 1
        ids = {source.symbol.id for source in module.symbols}
        if len(ids) < len(module.symbols):
            raise ValueError(f"duplicate id in {module.path!a}")
        for source in module.symbols:
            symbol = source.symbol
            ours = (symbol.repository, symbol.path) == (identity, module.path)
            named = symbol.id.startswith(symbol_id(identity, module.path, symbol.qualified_name))
            if not (ours and named and 1 <= symbol.start_line <= lines and symbol.end_line <= lines + 1):
                raise ValueError(f"unexpected symbol {symbol.id!a}")
            if source.parent is not None and source.parent not in ids:
                raise ValueError(f"invalid parent of {symbol.id!a}")
