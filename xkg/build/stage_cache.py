"""Stage outputs on disk: a rerun picks up where the last one stopped, and redoes only what its input changed."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from xkg.errors import StoreError
from xkg.files import private_folder, write_whole
from xkg.model import Code, Level, slug
from xkg.sandbox.runner import Environment
from xkg.value import Value

T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")

# {"sha256": "…", "output": …}: the digest is that of the bytes of the output as they stand.
_OUTPUT = b'", "output": '

# Files and folders of xkg/ that decide what a stage gives; a test holds them against the imports of `build`.
DECIDING = ("model.py", "value.py", "fusion.py", "unicode.py", "embeddings", "sandbox", "build")


class StageReport(Value):
    """One stage of one build: wall seconds, whether its output was there already, and what it gave in a few words."""

    name: str
    seconds: float
    reused: bool
    summary: str


class Progress(Value):
    """How far a stage is that works through a paper's techniques; `about` is the one that is done."""

    stage: str
    done: int
    total: int
    about: str


Event = StageReport | Progress


def installed(environment: Environment) -> tuple[str, bool]:
    """An environment in a few words, for `StageCache.timed`."""
    missing = f", {len(environment.missing)} could not be had" if environment.missing else ""
    return f"{len(environment.packages)} packages{missing}", False


def levels(code: Sequence[Code]) -> str:
    """How many code nodes each level has, highest first."""
    counts = {level: sum(c.level is level for c in code) for level in reversed(Level)}
    return ", ".join(f"{n} {level}" for level, n in counts.items() if n) or "no code nodes"


@cache
def pipeline_version() -> str:
    """12 hex digits over the source of every module, and every table, that a stage's output depends on: code that
    changed never meets an output that the old code made. What a language model is asked has an identity of its own
    (`LanguageModel.identity`), which the stages that ask it add to their inputs."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for place in DECIDING:
        files = [f for f in sorted((root / place).rglob("*")) if f.suffix in (".py", ".toml", ".txt")]
        for file in files or [root / place]:
            digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


class StageCache:
    """The stage outputs of one paper, in one folder, and the report of what ran. `notify` hears of each stage as it
    ends."""

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
    ) -> T:
        """The output of a stage for these inputs: read back where it was made before, else computed and kept.

        `inputs` are JSON values that determine the output; `keep` says of an output whether it may be used again (one
        that met a registry that was down may not). Raises `StoreError` when the folder cannot be written.
        """
        path = self.folder / f"{name}-{stage_key(inputs)}.json"
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

    def timed(self, name: str, work: Callable[[], R], tell: Callable[[R], tuple[str, bool]]) -> R:
        """Does `work` and reports it; time that a report inside it has already counted is not counted again."""
        started, before = time.perf_counter(), len(self.reports)
        result = work()
        seconds = time.perf_counter() - started - sum(r.seconds for r in self.reports[before:])
        text, reused = tell(result)
        self.report(StageReport(name=name, seconds=seconds, reused=reused, summary=text))
        return result

    def report(self, report: StageReport) -> None:
        self.reports.append(report)
        self._notify(report)

    def progress(self, stage: str, done: int, total: int, about: str) -> None:
        """Tells how far a stage is."""
        self._notify(Progress(stage=stage, done=done, total=total, about=about))


def outputs(folder: Path, name: str, kind: type[T]) -> Iterator[T]:
    """What a stage gave in all builds of a paper whose outputs are in `folder`, newest first."""
    paths = [(path.stat().st_mtime_ns, path) for path in folder.glob(f"{name}-*.json")]
    for _, path in sorted(paths, reverse=True):
        if (output := _read(path, kind)) is not None:
            yield output


def folder_name(identity: str) -> str:
    """A readable prefix of an id, and its hash: safe as a name on any file system."""
    return f"{slug(identity)[:48]}-{hashlib.sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def stage_key(inputs: Mapping[str, object]) -> str:
    """16 hex digits that change with any input and with the pipeline's own code."""
    text = json.dumps({**inputs, "pipeline": pipeline_version()}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _head(data: bytes) -> bytes:
    return b'{"sha256": "' + hashlib.sha256(data).hexdigest().encode()


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        head, _, data = path.read_bytes().removesuffix(b"}").partition(_OUTPUT)
        return kind.model_validate_json(data) if head == _head(data) else None
    except (FileNotFoundError, ValidationError):  # not there, or of another shape: made anew
        return None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}; mend it, or remove its folder") from error


def _write(path: Path, output: BaseModel) -> None:
    # ASCII alone, so that whatever a paper's text holds comes back as it was
    data = json.dumps(output.model_dump(mode="python"), default=str).encode("ascii")
    try:
        private_folder(path.parent)
        write_whole(path, _head(data) + _OUTPUT + data + b"}")
    except OSError as error:
        raise StoreError(f"cannot write {path.parent}: {error.strerror}; free space or rights are needed") from error
