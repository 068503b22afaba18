"""Loads benchmark instances: JSON lines with the fields of the benchmark's data sets."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt, ValidationError

from evaluation.ablation_bench.plans import PlanEntry, Text
from evaluation.inputs.inspect_tasks import given_path
from evaluation.inputs.rows import first_error

TaskName = Literal["author", "reviewer"]
TEXTS = (".tex", ".md", ".txt", ".text", ".bbl")
MOST_BYTES = 8_000_000
_LFS = b"version https://git-lfs.github.com/spec/"


def _listed(value: Any) -> Any:
    """Parses a list, which the data sets write either directly or as JSON text."""
    return json.loads(value) if isinstance(value, str) else value


def _golds(value: Any) -> Any:
    """Adds an empty list of metrics to gold ablations without metrics, because papers do not always name them."""
    rows = _listed(value)
    return (
        [{"metrics": [], **row} if isinstance(row, dict) else row for row in rows] if isinstance(rows, list) else rows
    )


class Instance(BaseModel):
    """A paper with its reference data. `paper` is a file or a folder. `golds` is used by the author task. `reviews` and
    `suggestions` (the number of ablations that the reviews suggest) are used by the reviewer task."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    id: Text
    title: Text = Field(alias="paper_title")
    abstract: Text = Field(alias="paper_abstract")
    paper: Path = Field(alias="paper_path")
    golds: Annotated[tuple[PlanEntry, ...], BeforeValidator(_golds)] = Field((), alias="ablations_in_paper")
    reviews: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field((), alias="review_text")
    suggestions: PositiveInt = Field(1, alias="num_ablation_suggestions", strict=True)


@dataclass(frozen=True)
class Loaded:
    """`problems` counts the skipped rows by reason."""

    instances: tuple[Instance, ...]
    problems: Counter[str]


def load(path: Path, task: TaskName) -> Loaded:
    """Reads the instances in a JSON lines file. Paper paths are relative to the file's folder or, as in a clone of the
    benchmark, to the shell's working folder. Papers must be inside one of these two folders. Raises `OSError`."""
    problems: Counter[str] = Counter()
    instances: dict[str, Instance] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            instance = Instance.model_validate_json(line) if line.strip() else None
        except (ValidationError, RecursionError) as error:
            problems[first_error(error) if isinstance(error, ValidationError) else "row that is too deep"] += 1
            continue
        if instance is None:
            continue
        paper = _paper(str(instance.paper), path.parent)
        if isinstance(paper, str):
            problems[paper] += 1
        elif not (instance.golds if task == "author" else instance.reviews):
            problems["paper without ablations" if task == "author" else "paper without reviews"] += 1
        elif instance.id in instances:
            problems["id used twice"] += 1
        else:
            instances[instance.id] = instance.model_copy(update={"paper": paper})
    return Loaded(tuple(instances.values()), problems)


def _paper(where: str, folder: Path) -> Path | str:
    """Returns the paper's file or folder, or an error message. A third-party data set must not be able to make us read
    arbitrary files."""
    try:
        found = next((base / where for base in (folder, given_path(".")) if (base / where).exists()), None)
    except (OSError, ValueError):
        found = None
    if found is None:
        return "missing paper"
    if not any(found.resolve().is_relative_to(base.resolve()) for base in (folder, given_path("."))):
        return "paper outside the folder of the rows and the working folder"
    beginnings = [_beginning(file) for file in texts_of(found)]
    if not beginnings:
        return "paper without a text file"
    return "paper that git lfs has not fetched (git lfs pull)" if all(b == _LFS for b in beginnings) else found


def _beginning(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(len(_LFS))


def texts_of(paper: Path) -> list[Path]:
    """Returns the text files in a folder, in order, or the file itself if `paper` is a file. Excludes links that lead
    outside the folder."""
    if paper.is_file():
        return [paper]
    root = paper.resolve()
    files = (path for path in paper.rglob("*") if path.suffix.lower() in TEXTS and path.is_file())
    return sorted(path for path in files if path.resolve().is_relative_to(root))


def source(paper: Path) -> str:
    """Returns the text of a paper's file, or of the text files in its folder. Each file in a folder is enclosed in tags
    with the file's name. Omits links that lead outside the folder, and text beyond `MOST_BYTES` in total. Raises
    `OSError`."""
    root = paper.parent if paper.is_file() else paper
    texts, room = [], MOST_BYTES
    for file in texts_of(paper):
        with file.open("rb") as opened:
            data = opened.read(room)
        room -= len(data)
        name = file.relative_to(root).as_posix()
        texts.append(f'<file name="{name}">\n{data.decode("utf-8", "replace")}\n</file>')
    return "\n".join(texts)
