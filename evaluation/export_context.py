"""Exports contexts for agents that replicate papers: `python -m evaluation.export_context --kg DIR --out FOLDER TASKS`.

TASKS is a folder of tasks, each with `paper.md` and `blacklist.txt`, or a single such task. The files written to
FOLDER/<task> for each task are

    guide.json          the planning file: the paper's techniques, in the peer's format, without code
    pairs.json          for each technique, at most -k code nodes from other papers that may help with it
    planning.md, implementation.md    both files as Markdown, for fixed workflows
    audit.json          text withheld because it is blacklisted, and items that could not be compared

The planning file is generated from `paper.md` alone, using the configured model or --llm (`none` for no model). The
file contains nothing that the agent may not see. The pairs contain only code from other papers. Blacklisted sources and
the paper itself are excluded from the search. Every written file is audited again, and any text that still mentions a
blacklist entry is withheld and reported. The exit status is 1 if the audit of the written files finds an entry.

A pair's score, roughly the probability that it fits, is at least --least-score. Below .5, the pair probably does not
fit."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import xkg
from evaluation.inputs.command import run_command
from evaluation.inputs.graph import check_graph, read_graph
from evaluation.results.table import aligned
from xkg.api import KnowledgeGraph
from xkg.blacklist import read_blacklist
from xkg.commands.build import build
from xkg.commands.graph.audit import NamedInTexts, audit
from xkg.config import load
from xkg.errors import InputError
from xkg.files import write_whole
from xkg.model import Technique
from xkg.serve.answers.quoting import fenced, quoted
from xkg.store.peer_format import write_peer

GUIDE, PAIRS, AUDIT = "guide.json", "pairs.json", "audit.json"
PLANNING, IMPLEMENTATION = "planning.md", "implementation.md"
WITHHELD = "[withheld]"
_HEAD = (
    "Code from other papers that may help: adapt it to this paper's settings, do not copy it. The level in brackets "
    "says what was proven: none, parsed, imported, executed, tested or faithful."
)

Pair = dict[str, Any]
"""A technique in the target, and a code node from another paper that may help with it; `level` is the node's checked
level."""


def main(
    tasks: Path,
    *,
    kg: Path,
    out: Path,
    k: Annotated[int, typer.Option("-k", min=1)] = 3,
    least_score: float = 0.5,
    budget_tokens: Annotated[int, typer.Option(min=1)] = 8000,
    llm: str | None = None,
) -> int:
    check_graph(kg)  # check the graph before building a paper, which may cost money
    found, problems = tasks_in(tasks)
    rows: list[tuple[str, ...]] = [("task", "techniques", "pairs", "without code", "withheld", "not compared", "audit")]
    clean = True
    for task in found:
        made = export(task, kg, out, k=k, least_score=least_score, budget_tokens=budget_tokens, llm=llm)
        clean &= made["clean"]
        counts = (
            made["techniques"],
            made["pairs"],
            made["without_code"],
            len(made["withheld"]),
            len(made["unchecked"]),
        )
        rows.append((task.name, *map(str, counts), "clean" if made["clean"] else "LEAK"))
    print(aligned(rows, left={0}))
    for problem in problems:
        print(f"left out: {problem}")
    return 0 if clean else 1


def tasks_in(folder: Path) -> tuple[list[Path], list[str]]:
    """Returns the task folders in a folder (or the folder itself), and one line for each folder that lacks a file.
    Raises `InputError` if there are no tasks."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; pass one that contains tasks (paper.md, blacklist.txt)")
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
        raise InputError(f"{folder}: contains no task with paper.md and blacklist.txt")
    return found, problems


def export(
    task: Path, kg: Path, out: Path, *, k: int, least_score: float, budget_tokens: int, llm: str | None
) -> dict[str, Any]:
    """Writes the files for one task into `out/<task>`, and returns the audit. The target is built into `out/.targets`.
    An unchanged paper is not rebuilt. Propagates any error from building or searching."""
    folder = out / task.name
    folder.mkdir(parents=True, exist_ok=True)
    settings = load(kg=out / ".targets" / task.name, **({"llm": {"model": llm}} if llm else {}))
    print(f"{task.name}: building only the paper", file=sys.stderr, flush=True)
    built = build(settings, task / "paper.md", None)
    blacklist = folder / "blacklist.txt"
    listed = (task / "blacklist.txt").read_text(encoding="utf-8", errors="replace")
    write_whole(blacklist, f"{listed.rstrip()}\ntitle: {' '.join(built.title.split())}\n".encode("utf-8", "replace"))
    with xkg.open(settings.kg) as target:
        planning = str(target.context(built.paper, budget_tokens=budget_tokens))
    (bundle,) = read_graph(settings.kg, [built.paper]).bundles
    print(f"{task.name}: searching code for {len(bundle.techniques)} techniques", file=sys.stderr, flush=True)
    graph_audit = audit(load(kg=kg), blacklist)
    tainted = {finding.where.partition("#")[0] for finding in graph_audit.findings if finding.kind != "text"}
    listed_names, all_names = (NamedInTexts(read_blacklist(path)) for path in (task / "blacklist.txt", blacklist))
    withheld: list[str] = []
    kept: list[tuple[Technique, list[Pair]]] = []
    with xkg.open(kg, serve={"exclude": blacklist}) as graph:
        for technique in (t for t in bundle.techniques if t.hidden is None):
            clean = []
            for pair in pairs(graph, technique, k, least_score, tainted):
                text = f"{pair['implementation']}\n{pair['test']}\n{pair['documentation']}"
                if named := all_names.named_in(text):
                    withheld.append(f"{pair['code']}: {named[0]}")
                else:
                    clean.append(pair)
            kept.append((technique, clean))
    rows = [pair for _, of_technique in kept for pair in of_technique]
    contents = (
        (GUIDE, listed_names, _without_code(write_peer(bundle))),
        (PAIRS, all_names, rows),
        (PLANNING, listed_names, planning),
        (IMPLEMENTATION, all_names, markdown(kept)),
    )
    for name, names, value in contents:
        shown = _withheld(value, names, f"{task.name}/{name}", withheld)
        _write(folder / name, shown)
    result = {
        "task": task.name,
        "techniques": len(kept),
        "pairs": len(rows),
        "without_code": sum(not of_technique for _, of_technique in kept),
        "withheld": withheld,
        "unchecked": graph_audit.unchecked,
        "clean": not any(names.named_in((folder / name).read_text(encoding="utf-8")) for name, names, _ in contents),
    }
    _write(folder / AUDIT, result)
    return result


def pairs(graph: KnowledgeGraph, technique: Technique, k: int, least_score: float, tainted: set[str]) -> Iterator[Pair]:
    """Yields up to `k` code nodes for a technique, best first, that score at least `least_score`. Papers in `tainted`
    are excluded."""
    for row in graph.search(f"{technique.name}. {technique.definition[:1000]}", k, with_code=True).rows:
        if row.code is None or row.score < least_score or row.id.partition("#")[0] in tainted:
            continue
        code = graph.code(row.code)
        yield {
            "technique": technique.name,
            "name": row.name,
            "implementation": code.implementation,
            "test": code.test or "",
            "documentation": code.documentation,
            "language": code.language,
            "paper": row.paper_title,
            "code": row.code,
            "level": row.level,
            "score": row.score,
        }


def markdown(found: Sequence[tuple[Technique, Sequence[Pair]]]) -> str:
    """Formats the pairs as Markdown, for prompts."""
    blocks = ["# Code from related papers, grouped by this paper's techniques", _HEAD]
    for technique, of_technique in found:
        blocks += [f"## {' '.join(technique.name.split())}", quoted(technique.definition or "no definition")]
        blocks += [] if of_technique else ["No code in the graph fits it."]
        for pair in of_technique:
            blocks += [f"### {pair['name']} ({pair['paper']}) [{pair['level']}]"]
            blocks += [fenced(pair["implementation"], pair["language"])]
    return "\n\n".join(blocks) + "\n"


def _without_code(value: Any) -> Any:
    """Returns a graph file without repository data, as if the paper had been built without a repository."""
    if isinstance(value, dict):
        emptied = {"code": None, "code_file": "", "code_overview": ""}
        return {key: emptied.get(key, _without_code(item)) for key, item in value.items()}
    return [_without_code(item) for item in value] if isinstance(value, list) else value


def _withheld(value: Any, names: NamedInTexts, where: str, said: list[str]) -> Any:
    """Replaces each line that mentions a blacklist entry, or the whole text if an entry spans lines."""
    if isinstance(value, dict):
        return {key: _withheld(item, names, where, said) for key, item in value.items()}
    if isinstance(value, list):
        return [_withheld(item, names, where, said) for item in value]
    if not isinstance(value, str) or not names.named_in(value):
        return value
    lines = value.split("\n")
    said += [f"{where}: {named[0]}" for line in lines if (named := names.named_in(line))]
    result = "\n".join(WITHHELD if names.named_in(line) else line for line in lines)
    if names.named_in(result):
        said.append(f"{where}: everything, since an entry spans lines")
        return WITHHELD
    return result


def _write(path: Path, value: Any) -> None:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True, indent=1) + "\n"
    write_whole(path, text.encode("utf-8", "backslashreplace"))


if __name__ == "__main__":
    run_command(main)
