"""Builds text for the roles' prompts: the experiment, its components, earlier trials and source code."""

from collections.abc import Iterable, Mapping, Sequence

from xkg.agents.ablation.candidates import Component, Place
from xkg.agents.ablation.outcomes import Baseline, CandidateOutcome, Importance
from xkg.agents.ablation.parsing import Function
from xkg.agents.ablation.report import rows
from xkg.agents.ablation.task import Task
from xkg.agents.workspace.command import cut_middle, numbered
from xkg.text.plural import plural

_WHOLE_FILE, _ONE_PLACE, _ALL = 8000, 8000, 40_000
_AROUND = 12
_MOST_TRIED = 60
_CODE, _LISTING = 120_000, 4000


def experiment(task: Task, baseline: Baseline, readme: str) -> str:
    noise = "every run gives the same value" if baseline.exact else "one seed: noise unknown"
    if baseline.noise is not None and not baseline.exact:
        noise = f"it varies by {baseline.noise:.2%} from run to run"
    better = "lower" if task.metric.direction == "min" else "higher"
    lines = [
        f"command: {task.command(task.seeds[0])}",
        f"metric: {task.metrics[0]} ({better} is better)",
        f"baseline: {baseline.verdict}; {noise}; a run takes {baseline.seconds:.1f} s",
    ]
    if readme.strip():
        lines.append("from its README:\n" + cut_middle(readme.strip(), 3000))
    return "\n".join(lines)


def executed_code(
    texts: Mapping[str, str], executed: Mapping[str, Sequence[int]] | None, functions: Sequence[Function]
) -> str:
    """Returns the Python files that the baseline runs, with line numbers. For files that do not fit in a prompt,
    returns only the names and line numbers of their functions."""
    paths = [path for path in texts if path.endswith(".py") and (executed is None or executed.get(path))]
    blocks, room = [], _CODE
    for path in sorted(paths, key=lambda path: (path.count("/"), path)):
        block = numbered(texts[path].split("\n"))
        if len(block) > room:
            block = "\n".join(f"{f.start_line}-{f.end_line} {f.name}" for f in functions if f.path == path)[:_LISTING]
        room = max(0, room - len(block))
        blocks.append(f"## {path}\n{block}")
    return "\n\n".join(blocks) or "(none)"


def component(part: Component) -> str:
    places = "\n".join(f"- {place}" for place in part.places)
    why = "; ".join(part.reasons)
    return f"{part.name}" + (f" ({why})" if why else "") + f"\n{places}"


def tried(outcomes: Sequence[CandidateOutcome], names: Mapping[str, str]) -> str:
    """Returns one line per outcome, newest last."""
    lines = [
        f"round {o.round}, {names.get(o.candidate.component, o.candidate.component)}: {o.candidate.kind}, "
        f"{o.candidate.description}: {result(o)}"
        for o in outcomes[-_MOST_TRIED:]
    ]
    left = len(outcomes) - len(lines)
    return "\n".join([*([f"({left} earlier ones)"] if left else []), *lines])


def result(outcome: CandidateOutcome) -> str:
    if outcome.failure or outcome.effect is None:
        return f"failed ({outcome.failure}: {(outcome.problem or '')[:200]})"
    held = f"{rows.change(outcome.effect)} {rows.interval(outcome.effect)}".strip()
    return f"{outcome.effect.value:.6g}, {held}, {plural(outcome.effect.seeds, 'seed')}"


def evidence(number: int, found: Importance) -> str:
    """Formats a component's evidence as one row of the importance table."""
    best = found.best
    if best is None or best.effect is None:
        return f"{number}. {found.component.name}: {rows.verdict(found)}"
    return f"{number}. {found.component.name}: {best.candidate.description}: {result(best)}; {rows.verdict(found)}"


def holds(found: Importance) -> bool:
    """Returns whether the evidence is strong. Evidence is strong if the component is critical and the changed code does
    not also compute the metric."""
    return found.critical and found.best is not None and not found.best.measures


def source(places: Iterable[Place], functions: Sequence[Function], texts: Mapping[str, str]) -> str:
    """Returns the code around the places: whole small files, whole functions, or nearby lines for code outside
    functions."""
    blocks: dict[str, str] = {}
    room = _ALL
    for place in places:
        text = texts.get(place.path, "")
        block, title = text, place.path
        if len(text) > _WHOLE_FILE:
            around = [f for f in functions if f.place.holds(place)]
            if around:
                inner = min(around, key=lambda f: f.end_line - f.start_line)
                start, end = inner.start_line, inner.end_line
            else:
                start, end = max(1, place.start_line - _AROUND), place.end_line + _AROUND
            block = cut_middle("\n".join(text.split("\n")[start - 1 : end]), _ONE_PLACE)
            title = f"{place.path}, lines {start}-{end}"
        if title not in blocks and room > 0:
            blocks[title] = block
            room -= len(block)
    return "\n\n".join(f"## {title}\n{block}" for title, block in blocks.items())
