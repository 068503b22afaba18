"""Context from a graph for agents that replicate papers: a planning file and technique-code pairs for each task.

A task is a folder with `paper.md` and `blacklist.txt`. The planning file is made from that paper alone, without any
repository, so that it contains nothing the agent may not see. The pairs are code of other papers in the graph.
Blacklisted sources and the paper itself are excluded from the search. Every written text is audited again, and text
that still names an entry is withheld and reported."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import xkg
from xkg.api import KnowledgeGraph
from xkg.blacklist import read_blacklist
from xkg.commands.build import build
from xkg.commands.graph.audit import NamedInTexts, audit
from xkg.config import Settings, load
from xkg.errors import InputError
from xkg.files import write_whole
from xkg.model import PaperBundle, Technique
from xkg.serve.answers.quoting import fenced, quoted
from xkg.store.peer_format import write_peer
from xkg.value import Value

GUIDE, PAIRS, PLANNING, IMPLEMENTATION, AUDIT = (
    "guide.json",
    "pairs.json",
    "planning.md",
    "implementation.md",
    "audit.json",
)
WITHHELD = "[withheld]"
LEAST_SCORE = 0.5
"""The minimum score of a pair (`SearchRow.score`, about the probability that it fits): below it, a misfit is more
likely."""


class ExportedPair(Value):
    """A technique of the target, and a code node of another paper that may help with it; `level` is its checked
    level."""

    technique: str
    name: str
    implementation: str
    test: str
    documentation: str
    language: str
    paper: str
    code: str
    level: str
    score: float


class Exported(Value):
    """One task. `withheld` lists, one per line, text left out because it names an entry of the blacklist; `unchecked`
    lists text that could not be compared. `clean`: the audit of the written files found nothing."""

    task: str
    techniques: int
    pairs: int
    without_code: int
    withheld: tuple[str, ...]
    unchecked: tuple[str, ...]
    clean: bool


def tasks_in(folder: Path) -> tuple[list[Path], list[str]]:
    """The task folders in a folder, or the folder itself, and one line for each that lacks a file. Raises `InputError`
    if there is none."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; name one that holds tasks (paper.md, blacklist.txt)")
    candidates = (
        [folder] if (folder / "paper.md").is_file() else sorted(path for path in folder.iterdir() if path.is_dir())
    )
    found, problems = [], []
    for path in candidates:
        missing = [name for name in ("paper.md", "blacklist.txt") if not (path / name).is_file()]
        if missing:
            problems.append(f"{path}: has no {' and no '.join(missing)}")
        else:
            found.append(path)
    if not found:
        raise InputError(f"{folder}: holds no task with paper.md and blacklist.txt")
    return found, problems


def export(
    task: Path,
    kg: Path,
    out: Path,
    *,
    k: int = 3,
    least_score: float = LEAST_SCORE,
    budget_tokens: int = 8000,
    llm: str | None = None,
    say: Callable[[str], None] = print,
) -> Exported:
    """Writes the files of one task into `out/<task>`. The target is built into `out/.targets`, without a repository,
    with the model `llm` or the configured one; an unchanged paper is not rebuilt. Raises the errors of building and
    searching."""
    folder = out / task.name
    folder.mkdir(parents=True, exist_ok=True)
    target_settings = load(kg=out / ".targets" / task.name, **({"llm": {"model": llm}} if llm else {}))
    say(f"{task.name}: building the paper alone")
    built = build(target_settings, task / "paper.md", None)
    blacklist = folder / "blacklist.txt"
    listed = (task / "blacklist.txt").read_text(encoding="utf-8", errors="replace")
    write_whole(blacklist, f"{listed.rstrip()}\ntitle: {' '.join(built.title.split())}\n".encode("utf-8", "replace"))
    with xkg.open(target_settings.kg) as target:
        planning = str(target.context(built.paper, budget_tokens=budget_tokens))
        bundle = _bundle(target_settings, built.paper)
    say(f"{task.name}: searching code for {len(bundle.techniques)} techniques")
    graph_audit = audit(load(kg=kg), blacklist)
    tainted = {finding.where.partition("#")[0] for finding in graph_audit.findings if finding.kind != "text"}
    with xkg.open(kg, serve={"exclude": blacklist}) as graph:
        found = [(t, list(pairs(graph, t, k, least_score, tainted))) for t in bundle.techniques if t.hidden is None]
    listed_names = NamedInTexts(read_blacklist(task / "blacklist.txt"))
    all_names = NamedInTexts(read_blacklist(blacklist))
    withheld: list[str] = []
    guide = _withheld(_without_code(write_peer(bundle)), listed_names, f"{task.name}/{GUIDE}", withheld)
    kept = []
    for technique, of_technique in found:
        clean = []
        for pair in of_technique:
            if named := all_names.named_in(f"{pair.implementation}\n{pair.test}\n{pair.documentation}"):
                withheld.append(f"{pair.code}: {named[0]}")
            else:
                clean.append(pair)
        kept.append((technique, clean))
    planning = _line_by_line(planning, listed_names, f"{task.name}/{PLANNING}", withheld)
    implementation = _line_by_line(markdown(kept), all_names, f"{task.name}/{IMPLEMENTATION}", withheld)
    rows = [pair.model_dump() for _, of_technique in kept for pair in of_technique]
    _write_json(folder / GUIDE, guide)
    _write_json(folder / PAIRS, _withheld(rows, all_names, f"{task.name}/{PAIRS}", withheld))
    write_whole(folder / PLANNING, planning.encode("utf-8", "backslashreplace"))
    write_whole(folder / IMPLEMENTATION, implementation.encode("utf-8", "backslashreplace"))
    clean_now = all(
        not names.named_in((folder / name).read_text(encoding="utf-8"))
        for name, names in (
            (GUIDE, listed_names), (PLANNING, listed_names), (PAIRS, all_names), (IMPLEMENTATION, all_names),
        )
    )  # fmt: skip
    result = Exported(
        task=task.name,
        techniques=len(found),
        pairs=len(rows),
        without_code=sum(not of_technique for _, of_technique in kept),
        withheld=tuple(withheld),
        unchecked=graph_audit.unchecked,
        clean=clean_now,
    )
    _write_json(folder / AUDIT, result.model_dump())
    return result


def pairs(
    graph: KnowledgeGraph, technique: Technique, k: int, least_score: float, tainted: set[str]
) -> Iterator[ExportedPair]:
    """At most `k` code nodes for a technique with at least this score, best first, and none from the papers in
    `tainted`."""
    answer = graph.search(f"{technique.name}. {technique.definition[:1000]}", k, with_code=True)
    for row in answer.rows:
        paper = row.id.partition("#")[0]
        if row.code is None or row.score < least_score or paper in tainted:
            continue
        code = graph.code(row.code)
        yield ExportedPair(
            technique=technique.name,
            name=row.name,
            implementation=code.implementation,
            test=code.test or "",
            documentation=code.documentation,
            language=code.language,
            paper=row.paper_title,
            code=row.code,
            level=row.level,
            score=row.score,
        )


def markdown(found: Sequence[tuple[Technique, Sequence[ExportedPair]]]) -> str:
    """The pairs as Markdown, for prompts."""
    lines = ["# Code of related papers, by technique of this paper", "", _HEAD]
    for technique, of_technique in found:
        lines += ["", f"## {' '.join(technique.name.split())}", "", quoted(technique.definition or "no definition")]
        if not of_technique:
            lines += ["", "No code in the graph fits it."]
        for pair in of_technique:
            lines += [
                "",
                f"### {pair.name} ({pair.paper}) [{pair.level}]",
                "",
                fenced(pair.implementation, pair.language),
            ]
    return "\n".join(lines) + "\n"


_HEAD = (
    "Code of other papers that may serve: adapt it to this paper's settings, do not copy it. What was proven of it "
    "stands in brackets: none, parsed, imported, executed, tested or faithful."
)


def _bundle(settings: Settings, paper: str) -> PaperBundle:
    from xkg.commands.graph.open import open_store

    with open_store(settings) as store, store.snapshot() as snapshot:
        return snapshot.bundle(paper)


def _without_code(value: Any) -> Any:
    """A graph file without repository data; a paper built without a repository has none."""
    if isinstance(value, dict):
        emptied = {"code": None, "code_file": "", "code_overview": ""}
        return {key: emptied.get(key, _without_code(item)) for key, item in value.items()}
    return [_without_code(item) for item in value] if isinstance(value, list) else value


def _withheld(value: Any, names: NamedInTexts, where: str, said: list[str]) -> Any:
    """The value with each string that names an entry replaced."""
    if isinstance(value, str):
        if named := names.named_in(value):
            said.append(f"{where}: {named[0]}")
            return _line_by_line(value, names, where, [])
        return value
    if isinstance(value, dict):
        return {key: _withheld(item, names, where, said) for key, item in value.items()}
    return [_withheld(item, names, where, said) for item in value] if isinstance(value, list) else value


def _line_by_line(text: str, names: NamedInTexts, where: str, said: list[str]) -> str:
    """The text with each line that names an entry replaced; the whole text if an entry spans lines."""
    lines = []
    for line in text.split("\n"):
        if named := names.named_in(line):
            said.append(f"{where}: {named[0]}")
            lines.append(WITHHELD)
        else:
            lines.append(line)
    result = "\n".join(lines)
    if names.named_in(result):
        said.append(f"{where}: all of it, since an entry spans lines")
        return WITHHELD
    return result


def _write_json(path: Path, value: Any) -> None:
    write_whole(path, json.dumps(value, ensure_ascii=True, indent=1).encode() + b"\n")
