"""Stores records of earlier batches in the graph's folder, so that a later batch builds only missing or changed
papers."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from xkg.commands.batch.paper_list import ListedPaper
from xkg.commands.published import BuildResult
from xkg.config import Settings
from xkg.engine.engine import WorkFailed
from xkg.errors import StoreError
from xkg.files import private_folder, sync_file, write_whole
from xkg.text.unicode import encodable
from xkg.value import Value

FILE = "batch.jsonl"
_MOST_FILES = 50_000

State = Literal["built", "unchanged", "partial", "failed"]


class Row(Value):
    """The outcome for one listed paper. `paper` is its id in the graph, or None if the build failed before the id was
    known. `seconds` is the time spent in this batch, and `cost_usd` is the cost of all builds of the paper. `hidden`
    counts hidden techniques by reason, and `levels` counts code nodes by level. `reason` says why the state is
    `partial` or `failed`. `notes` are shown to the user."""

    line: int
    name: str
    repository: str | None = None
    state: State
    paper: str | None = None
    title: str = ""
    techniques: int = 0
    hidden: dict[str, int] = Field(default={})
    levels: dict[str, int] = Field(default={})
    generation: int | None = None
    cost_usd: float = 0.0
    seconds: float = 0.0
    reason: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.state}{self.reason and ': '}{self.reason}"


def row_of(listed: ListedPaper, outcome: BuildResult | WorkFailed, seconds: float) -> Row:
    """Returns the row for a paper that was just built."""
    row = Row(line=listed.line, name=listed.paper, repository=listed.repository, state="failed", seconds=seconds)
    if isinstance(outcome, WorkFailed):
        return row.model_copy(update={"reason": str(outcome)})
    state = "partial" if outcome.unfinished else "built" if outcome.published else "unchanged"
    same = ("paper", "title", "techniques", "hidden", "levels", "generation", "cost_usd", "notes")
    known = {name: getattr(outcome, name) for name in same}
    return row.model_copy(update={**known, "state": state, "reason": outcome.unfinished})


class Record(Value):
    """A row, with the listed paper's key and a digest of all inputs of its build. `lasting` is True if the same inputs
    would fail again."""

    key: str
    inputs: str
    row: Row
    lasting: bool = False


class Records:
    """The latest record for each listed paper, from the graph's `batch.jsonl`. Skips damaged lines, whose papers are
    then built again."""

    def __init__(self, folder: Path) -> None:
        """Reads the records. Raises `StoreError` if the folder cannot be created or the file cannot be read."""
        self._path = folder / FILE
        try:
            private_folder(folder)
            self._records = {record.key: record for record in _read(self._path)}
        except OSError as error:
            raise StoreError(f"{self._path} cannot be read ({error.strerror}); fix or remove it") from error

    def of(self, listed: ListedPaper) -> Record | None:
        return self._records.get(key(listed))

    def enter(self, records: Iterable[Record]) -> None:
        """Stores records durably. Raises `StoreError` if they cannot be written."""
        new = {record.key: record for record in records}
        self._records |= new
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(f"{encodable(record.model_dump_json())}\n" for record in new.values())
            sync_file(self._path)
        except OSError as error:
            raise self._unwritten(error) from error

    def compact(self) -> None:
        """Rewrites the file without records that newer ones have replaced."""
        lines = (f"{encodable(record.model_dump_json())}\n" for record in self._records.values())
        try:
            write_whole(self._path, "".join(lines).encode(), 0o600)
        except OSError as error:
            raise self._unwritten(error) from error

    def _unwritten(self, error: OSError) -> StoreError:
        return StoreError(
            f"{self._path} cannot be written ({error.strerror}); free space or correct permissions, then run the same "
            "command again to continue"
        )


def _read(path: Path) -> Iterator[Record]:
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                yield Record.model_validate_json(line)
            except ValidationError:
                continue


def key(listed: ListedPaper) -> str:
    """Returns a key for a listed paper that does not depend on its line."""
    return _digest([listed.paper, listed.repository, listed.paper_id])


def inputs(listed: ListedPaper, decided: str) -> str:
    """Returns a digest of the inputs to a paper's build. The digest covers the sizes and modification times of the
    files of the paper and the repository, and `decided`. `decided` is the digest of the inputs that all papers share
    (`deciding_settings`). Remote sources (arXiv, an address) are treated as unchanged. To fetch new versions, build the
    paper by name."""
    repository = listed.repository and _files(listed.repository)
    return _digest([decided, _files(listed.paper), repository, listed.paper_id, listed.record is not None])


def shared_inputs(listed: ListedPaper, decided: str) -> str | None:
    """Returns a digest like that of `inputs`, but equal on all machines that build into the same graph. `decided` comes
    from `shared_settings`. Returns None if the paper comes from local files."""
    names = [name for name in (listed.paper, listed.repository) if name is not None]
    if listed.record is not None or any(_place(name) is not None for name in names):
        return None
    given = [listed.paper_id, listed.keep_proven, listed.packages, listed.cpu]
    return _digest([decided, listed.paper, listed.repository, *given])


def shared_settings(settings: Settings, blacklist: Path | None, *, first: bool) -> str:
    """Returns a digest like that of `deciding_settings`, but equal on all machines that build into the same graph. This
    digest covers the blacklist's text instead of its path."""
    excluded = [path.read_bytes().hex() for path in (blacklist, settings.serve.exclude) if path and path.is_file()]
    return _digest([*_deciding(settings), excluded, first])


def deciding_settings(settings: Settings, blacklist: Path | None, *, first: bool = False) -> str:
    """Returns a digest of the settings, code, prompts and blacklist that determine the result of a build."""
    store = [str(settings.store.url), settings.store.database]
    excluded = [_files(str(path)) for path in (blacklist, settings.serve.exclude) if path]
    return _digest([*_deciding(settings), store, excluded, first])


def _deciding(settings: Settings) -> list[object]:
    from xkg.build.stage_cache import pipeline_version

    llm = settings.llm
    models = [llm.model, llm.paper_model, llm.code_model, llm.verifier_model, llm.expert_model, llm.base_url]
    prompts = [path.read_text("utf-8") for path in sorted(_prompts().glob("*.md"))] if llm.model != "none" else []
    environment = [settings.environment.max_mb, settings.environment.packages, settings.environment.cpu]
    rest = [settings.prune.min_level, settings.sandbox.runner, settings.embedding.vectors]
    return [pipeline_version(), models, prompts, environment, rest]


def _prompts() -> Path:
    import xkg.build.guided

    return Path(xkg.build.guided.__file__).parent / "prompts"


def _files(name: str) -> object:
    place = _place(name)
    if place is None:
        return name
    if not place.is_dir():
        return [name, _state(place)]
    states: list[object] = []
    for folder, folders, files in os.walk(place):
        folders[:] = sorted(f for f in folders if f not in ("objects", "__pycache__"))
        states.extend([f"{folder}/{file}", _state(Path(folder, file))] for file in sorted(files))
        if len(states) > _MOST_FILES:
            # There are too many files to check each time, so the folder always counts as changed.
            return [name, os.urandom(8).hex()]
    return [name, states]


def _place(name: str) -> Path | None:
    """Returns the file or folder that a name refers to. The name may end with a commit."""
    path, _, _ = name.rpartition("@")
    return next((Path(each) for each in (name, path) if each and Path(each).exists()), None)


def _state(path: Path) -> Mapping[str, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return {"size": status.st_size, "changed": status.st_mtime_ns, "inode": status.st_ino}


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
