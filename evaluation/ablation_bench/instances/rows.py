"""Loads instances of the benchmark: JSON lines with the fields of its data sets."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from evaluation.ablation_bench.answers import PlanEntry, plan_entry
from evaluation.inputs.paths import given_path
from xkg.value import Value

TaskName = Literal["author", "reviewer"]
TEXTS = (".tex", ".md", ".txt", ".text", ".bbl")
MOST_BYTES = 8_000_000
_LFS = b"version https://git-lfs.github.com/spec/"
GROUPS = ("year", "venue", "decision")


class Instance(Value):
    """A paper with its reference data: `golds` for the author task, `reviews` and `suggestions` (the number of
    ablations that they suggest) for the reviewer task. `paper` is a file or a folder; `groups` are year, venue and
    decision, if given."""

    id: str
    title: str
    abstract: str
    paper: Path
    golds: tuple[PlanEntry, ...] = ()
    reviews: tuple[str, ...] = ()
    suggestions: int = 0
    groups: dict[str, str] = Field(default={})


@dataclass(frozen=True)
class Loaded:
    """Instances in file order; `problems` counts the left-out rows by reason."""

    instances: tuple[Instance, ...]
    problems: Counter[str]


def load(path: Path, task: TaskName) -> Loaded:
    """The instances of a file of JSON lines. Paths of papers are relative to its folder or to the shell's working
    folder, as in a clone of the benchmark, and must be inside one of them. Raises `OSError`."""
    problems: Counter[str] = Counter()
    instances: dict[str, Instance] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            problems["row that is no JSON object"] += 1
            continue
        instance = _instance(row, task, path.parent)
        if isinstance(instance, str):
            problems[instance] += 1
        elif instance.id in instances:
            problems["id used twice"] += 1
        else:
            instances[instance.id] = instance
    return Loaded(tuple(instances.values()), problems)


def _instance(row: dict[str, Any], task: TaskName, folder: Path) -> Instance | str:
    texts = [row.get(name) for name in ("id", "paper_title", "paper_abstract", "paper_path")]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        return "row without id, paper_title, paper_abstract or paper_path"
    name, title, abstract, where = (str(text) for text in texts)
    paper = _paper(where, folder)
    if isinstance(paper, str):
        return paper
    groups = {group: str(row[group]) for group in GROUPS if row.get(group) not in (None, "")}
    if task == "author":
        golds = _golds(row.get("ablations_in_paper"))
        if isinstance(golds, str):
            return golds
        return Instance(id=name, title=title, abstract=abstract, paper=paper, golds=golds, groups=groups)
    reviews, suggestions = _listed(row.get("review_text")), row.get("num_ablation_suggestions")
    if reviews is None or not all(isinstance(review, str) for review in reviews):
        return "review_text that is no JSON list of texts"
    if not isinstance(suggestions, int) or isinstance(suggestions, bool) or suggestions < 1:
        return "num_ablation_suggestions that is no number above 0"
    return Instance(
        id=name,
        title=title,
        abstract=abstract,
        paper=paper,
        reviews=tuple(reviews),
        suggestions=suggestions,
        groups=groups,
    )


def _paper(where: str, folder: Path) -> Path | str:
    """The file or folder of a paper, or the error: a third-party data set must not make us read arbitrary files."""
    try:
        found = next((base / where for base in (folder, given_path(".")) if (base / where).exists()), None)
    except (OSError, ValueError):
        found = None
    if found is None:
        return "paper that is missing"
    if not any(found.resolve().is_relative_to(base.resolve()) for base in (folder, given_path("."))):
        return "paper outside of the folder of the rows and the current one"
    beginnings = [_beginning(file) for file in ([found] if found.is_file() else texts_of(found))]
    if not beginnings:
        return "paper without a text file"
    return "paper that git lfs has not fetched (git lfs pull)" if all(b == _LFS for b in beginnings) else found


def _beginning(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(len(_LFS))


def texts_of(folder: Path) -> list[Path]:
    """The text files of a paper's folder, in order, without links that lead out of it."""
    root = folder.resolve()
    files = (path for path in folder.rglob("*") if path.suffix.lower() in TEXTS and path.is_file())
    return sorted(path for path in files if path.resolve().is_relative_to(root))


def _golds(value: object) -> tuple[PlanEntry, ...] | str:
    """Golds may lack fields that a plan must have: papers do not always say what they measure."""
    rows = _listed(value)
    if rows is None:
        return "ablations_in_paper that is no JSON list"
    golds: dict[str, PlanEntry] = {}
    for row in rows:
        entry = plan_entry({"metrics": [], **row}) if isinstance(row, dict) else "it is no object"
        if isinstance(entry, str):
            return f"ablation in paper: {entry}"
        golds[entry.name] = entry
    return tuple(golds.values()) or "paper without ablations"


def _listed(value: object) -> list[Any] | None:
    """A list, or the JSON text of one, as the data sets have it."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, list) else None


def source(paper: Path) -> str:
    """The text of a paper: its file, or the text files of its folder, each between tags with its name. Leaves out links
    that lead out of the folder, and text beyond `MOST_BYTES` in total. Raises `OSError`."""
    files = [paper] if paper.is_file() else texts_of(paper)
    root = paper.parent if paper.is_file() else paper
    texts, room = [], MOST_BYTES
    for file in files:
        with file.open("rb") as opened:
            data = opened.read(room)
        room -= len(data)
        name = file.relative_to(root).as_posix()
        texts.append(f'<file name="{name}">\n{data.decode("utf-8", "replace")}\n</file>')
    return "\n".join(texts)
