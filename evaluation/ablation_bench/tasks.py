"""Defines AblationBench's two tasks.

inspect eval evaluation/ablation_bench/tasks.py@author --model … -T instances=FILE -T planner=lm -T graph=DIR"""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig

from evaluation.ablation_bench.instances import TaskName, load
from evaluation.ablation_bench.judge import judge
from evaluation.ablation_bench.planners import Planner, planner
from evaluation.inputs.graph import check_graph
from evaluation.inputs.inspect_tasks import checked, given_path

_MOST_BYTES = 65_536
"""The maximum size of a tool result. The server's answers have up to 8,000 tokens, and Inspect removes the middle of
longer results."""


@task
@checked
def author(
    instances: str, planner: Planner = "lm", graph: str = "", k: int = 5, plans: str = "", window: int = 100_000
) -> Task:
    """Plan a paper's ablations from its text up to the method. `planner`: lm, agent, product or graph (the last two
    require `graph`; planner `graph` uses no model), or stored (plans in the folder `plans`). `graph`: the folder of a
    graph of the papers, which must be truncated like the instances."""
    return _task("author", instances, planner, graph, k, plans, window)


@task
@checked
def reviewer(
    instances: str, planner: Planner = "lm", graph: str = "", k: int = 2, plans: str = "", window: int = 100_000
) -> Task:
    """Find the ablations missing from a whole paper. The parameters are as in `author`."""
    return _task("reviewer", instances, planner, graph, k, plans, window)


def _task(name: TaskName, instances: str, kind: Planner, graph: str, k: int, plans: str, window: int) -> Task:
    if k < 1 or window < 1:
        raise ValueError("k and window must be above 0")
    if (kind in ("product", "graph") and not graph) or (kind == "stored" and not plans):
        raise ValueError(f"planner={kind} needs {'plans' if kind == 'stored' else 'graph'}=FOLDER")
    graph, plans = (str(given_path(folder)) if folder else "" for folder in (graph, plans))
    if kind == "stored" and not Path(plans).is_dir():
        raise ValueError(f"plans: no such folder: {plans}")
    if graph:
        check_graph(Path(graph))
    file = given_path(instances)
    loaded = load(file, name)
    if not loaded.instances:
        reasons = ", ".join(f"{count} x {kind}" for kind, count in loaded.problems.items())
        raise ValueError(f"{file} has no usable instance: {reasons or 'it is empty'}")
    samples = [
        Sample(id=instance.id, input=instance.title, metadata=instance.model_dump(mode="json"))
        for instance in loaded.instances
    ]
    return Task(
        dataset=MemoryDataset(samples, name=file.stem),
        solver=planner(kind, name, k, graph, plans, window),
        scorer=judge(name, k, window),
        config=GenerateConfig(max_tool_output=_MOST_BYTES),
        metadata={"k": k, "planner": kind, "graph": bool(graph), "rows": dict(loaded.problems)},
    )
