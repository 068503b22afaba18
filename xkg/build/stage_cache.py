"""Stores the outputs of stages on disk. A rerun resumes at the last unfinished stage and repeats only stages whose
inputs changed."""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from xkg.errors import StoreError
from xkg.files import private_folder, write_whole
from xkg.model import Code, Level, slug
from xkg.sandbox.runner import Environment
from xkg.text.unicode import printable_line
from xkg.value import Value

T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")

# A stored file has the form {"sha256": "…", "output": …}, where `sha256` is the digest of the output's bytes.
_OUTPUT = b'", "output": '

# These files and folders in xkg/ determine the output of a stage. A test compares this list with the imports of
# `build`.
DECIDING = ("model.py", "value.py", "fusion.py", "text", "embeddings", "sandbox", "build")
# Prompts (.md) have a separate version.
DECIDING_FILES = (".py", ".toml", ".txt", ".json", ".npz")


class StageReport(Value):
    """Reports on one stage of a build. The report contains the elapsed time in seconds, a summary of the output, and
    whether the output was reused."""

    name: str
    seconds: float
    reused: bool
    summary: str

    def __str__(self) -> str:
        reused = " (kept)" if self.reused else ""
        return f"{self.name:<12}{self.seconds:7.1f} s  {printable_line(self.summary)}{reused}"


class Progress(Value):
    """Reports a stage's progress through a paper's techniques. `about` is the technique that was just finished."""

    stage: str
    done: int
    total: int
    about: str

    def __str__(self) -> str:
        return f"{self.stage:<12}{self.done:>4}/{self.total:<4} {printable_line(self.about)}"


class Begun(Value):
    """Reports the start of a stage, or of its work on the technique `about`."""

    stage: str
    about: str = ""

    def __str__(self) -> str:
        return f"{self.stage:<12}begins{self.about and ': '}{printable_line(self.about)}"


Event = StageReport | Progress | Begun


def installed(environment: Environment) -> tuple[str, bool]:
    """Returns the summary of an environment in the format of `StageCache.timed`."""
    missing = f", {len(environment.missing)} unavailable" if environment.missing else ""
    return f"{len(environment.packages)} packages{missing}", False


def level_counts(levels: Iterable[Level]) -> dict[Level, int]:
    """Returns the number of code nodes at each level, highest level first. Omits levels without nodes."""
    counts = Counter(levels)
    return {level: counts[level] for level in reversed(Level) if counts[level]}


def levels(code: Sequence[Code]) -> str:
    """Summarizes the code nodes by level. Includes the number of nodes that differ from the paper."""
    counts = ", ".join(f"{n} {level}" for level, n in level_counts(c.level for c in code).items()) or "no code nodes"
    departing = sum(any(not each.component for each in c.departures) for c in code)
    return counts + (f" ({departing} with departures from the paper)" if departing else "")


def pipeline_version() -> str:
    """Returns 12 hex digits computed from the source of every module and table that a stage's output depends on.
    Therefore, outputs are never reused after the code changes.

    Prompts have a separate identity (`LanguageModel.identity`), which the guided stages add to their inputs."""
    return sources_version(DECIDING)


@cache
def sources_version(places: tuple[str, ...]) -> str:
    """Returns 12 hex digits computed from the modules and tables in these files and folders of xkg/."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for place in places:
        files = [f for f in sorted((root / place).rglob("*")) if f.suffix in DECIDING_FILES]
        for file in files or [root / place]:
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


class StageCache:
    """Caches the outputs of stages for one paper in a folder, with a report for each stage. `notify` is called when a
    stage starts or ends."""

    def __init__(self, folder: Path, notify: Callable[[Event], None] = lambda _: None) -> None:
        self.folder = folder
        self.reports: list[StageReport] = []
        self._notify = notify

    def stage(
        self,
        name: str,
        inputs: Mapping[str, object],
        kind: type[T],
        compute: Callable[[], T],
        summary: Callable[[T], str],
        *,
        keep: Callable[[T], bool] = lambda _: True,
        version: str | None = None,
    ) -> T:
        """Returns the stage's output for these inputs. Reads a stored output, or computes the output and stores it.

        `inputs` contains the JSON values that determine the output. `keep` returns whether an output may be reused. For
        example, an output may not be reused if a registry was down. `version` identifies the code that determines the
        output, by default the whole pipeline. Raises `StoreError` if the folder cannot be written."""
        path = self.folder / f"{name}-{stage_key(inputs, version)}.json"
        reused = True

        def produce() -> T:
            nonlocal reused
            output = _read(path, kind)
            if output is None:
                reused = False
                output = compute()
                if keep(output):
                    _write(path, output)
            return output

        return self.timed(name, produce, lambda output: (summary(output), reused))

    def timed(self, name: str, work: Callable[[], R], describe: Callable[[R], tuple[str, bool]]) -> R:
        """Runs `work` and reports its time, without the time of any stages that `work` itself reports."""
        self._notify(Begun(stage=name))
        started, before = time.perf_counter(), len(self.reports)
        result = work()
        seconds = time.perf_counter() - started - sum(r.seconds for r in self.reports[before:])
        text, reused = describe(result)
        self.report(StageReport(name=name, seconds=seconds, reused=reused, summary=text))
        return result

    def retain(self, name: str, key: str, output: BaseModel) -> None:
        """Stores a value for readers of the graph. The stages do not read this value. Raises `StoreError` like
        `stage`."""
        path = self.folder / f"{name}-{key}.json"
        if not path.exists():
            _write(path, output)

    def report(self, report: StageReport) -> None:
        self.reports.append(report)
        self._notify(report)

    def begun(self, stage: str, about: str) -> None:
        """Reports that a stage starts work on a technique."""
        self._notify(Begun(stage=stage, about=about))

    def progress(self, stage: str, done: int, total: int, about: str) -> None:
        """Reports the progress of a stage."""
        self._notify(Progress(stage=stage, done=done, total=total, about=about))


def outputs(folder: Path, name: str, kind: type[T]) -> Iterator[T]:
    """Yields the outputs of one stage from all stored builds of a paper in `folder`, newest first."""
    paths = [(path.stat().st_mtime_ns, path) for path in folder.glob(f"{name}-*.json")]
    for _, path in sorted(paths, reverse=True):
        if (output := _read(path, kind)) is not None:
            yield output


def retained(folder: Path, name: str, key: str, kind: type[T]) -> T | None:
    """Returns the value that `StageCache.retain` stored under this key, or None if there is no such value."""
    return _read(folder / f"{name}-{key}.json", kind)


def document_key(source_sha256: str, pipeline: str) -> str:
    """Returns the key for a parsed paper. The offsets are the same if the same code parses the same source."""
    return hashlib.sha256(f"{source_sha256} {pipeline}".encode()).hexdigest()[:16]


def folder_name(identity: str) -> str:
    """Returns a readable prefix of an id, followed by the id's hash. The result is a valid file name on any file
    system."""
    return f"{slug(identity)[:48]}-{hashlib.sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def stage_key(inputs: Mapping[str, object], version: str | None = None) -> str:
    """Returns 16 hex digits computed from the inputs and the code version, which defaults to `pipeline_version()`."""
    text = json.dumps({**inputs, "pipeline": version or pipeline_version()}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _head(data: bytes) -> bytes:
    return b'{"sha256": "' + hashlib.sha256(data).hexdigest().encode()


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        head, _, data = path.read_bytes().removesuffix(b"}").partition(_OUTPUT)
        return kind.model_validate_json(data) if head == _head(data) else None
    except (FileNotFoundError, ValidationError):  # if the file is missing or has an old format, recompute the output
        return None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}; fix the file, or delete its folder") from error


def _write(path: Path, output: BaseModel) -> None:
    # ASCII can represent any text from a paper, including surrogates.
    data = json.dumps(output.model_dump(mode="python"), default=str).encode("ascii")
    try:
        private_folder(path.parent)
        write_whole(path, _head(data) + _OUTPUT + data + b"}")
    except OSError as error:
        raise StoreError(
            f"cannot write {path.parent}: {error.strerror}; free disk space or correct its permissions"
        ) from error
