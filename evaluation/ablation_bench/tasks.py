"""The two tasks of AblationBench.

inspect eval evaluation/ablation_bench/tasks.py@author --model … -T instances=FILE -T planner=lm -T graph=DIR
"""

from pathlib import Path
from typing import Literal

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.solver import Solver

from evaluation.ablation_bench.instances.rows import Instance, Loaded, TaskName, load
from evaluation.ablation_bench.judges.scorers import judge_scorer
from evaluation.ablation_bench.planners.solvers import (
    agent_planner,
    graph_planner,
    lm_planner,
    product_planner,
    stored_plans,
)
from evaluation.ablation_bench.reading.agent import MOST_BYTES
from evaluation.ablation_bench.scores.report import ROLES
from evaluation.inputs.graph import check_graph
from evaluation.inputs.paths import given_path
from evaluation.inputs.task_parameters import checked

Planner = Literal["lm", "agent", "product", "graph", "stored"]
_MAKE = "python -m evaluation.ablation_bench small PAPERS OUT"
SMALL = Path(__file__).parent.parent / "data" / "ablations" / "instances.jsonl"
"""Gold ablations of five papers. The papers are not in the repository: see docs/howto/measure.md."""


@task
@checked
def author(
    instances: str = str(SMALL),
    planner: Planner = "lm",
    graph: str = "",
    k: int = 5,
    judges: int = 1,
    plans: str = "",
    window: int = 100_000,
) -> Task:
    """Plan the ablations of a paper from its text up to the method. `planner`: lm, agent, product or graph (the last
    two need `graph`; the planner `graph` asks no model), or stored (plans in the folder `plans`). `graph`: the folder
    of a graph that has the papers, cut like the instances. `judges`: 1, or 3 for a majority."""
    return _task("author", instances, planner, graph, k, judges, plans, window)


@task
@checked
def reviewer(
    instances: str,
    planner: Planner = "lm",
    graph: str = "",
    k: int = 2,
    judges: int = 1,
    plans: str = "",
    window: int = 100_000,
) -> Task:
    """Find the missing ablations of a whole paper. Parameters are as in `author`."""
    return _task("reviewer", instances, planner, graph, k, judges, plans, window)


def _task(
    name: TaskName,
    instances: str,
    planner: Planner,
    graph: str,
    k: int,
    judges: int,
    plans: str,
    window: int,
) -> Task:
    if not 1 <= judges <= len(ROLES) or k < 1 or window < 1:
        raise ValueError(f"judges is a number from 1 to {len(ROLES)}, k and window are above 0")
    if (planner in ("product", "graph") and not graph) or (planner == "stored" and not plans):
        raise ValueError(f"planner={planner} needs {'plans' if planner == 'stored' else 'graph'}=FOLDER")
    graph, plans = (str(given_path(folder)) if folder else "" for folder in (graph, plans))
    if planner == "stored" and not Path(plans).is_dir():
        raise ValueError(f"plans: there is no folder {plans}")
    if graph:
        check_graph(Path(graph))
    loaded = _loaded(instances, name)
    return Task(
        dataset=MemoryDataset([_sample(instance) for instance in loaded.instances], name=Path(instances).stem),
        solver=_solver(name, planner, graph, k, plans, window),
        scorer=judge_scorer(name, k, judges, window),
        config=GenerateConfig(max_tool_output=MOST_BYTES),
        metadata={
            "k": k,
            "planner": planner,
            "graph": bool(graph),
            "judges": judges,
            "rows": dict(loaded.problems),
        },
    )


def _loaded(instances: str, task: TaskName) -> Loaded:
    """Raises `ValueError` for a missing file, and for one without a usable instance."""
    file = given_path(instances)
    if not file.is_file():
        how = f": make one with `{_MAKE}`" if file == SMALL else ""
        raise ValueError(f"there is no file {file}{how}")
    loaded = load(file, task)
    if not loaded.instances:
        reasons = ", ".join(f"{count} x {kind}" for kind, count in loaded.problems.items())
        raise ValueError(f"{file} has no instance that can be used: {reasons or 'it is empty'}")
    return loaded


def _solver(name: TaskName, planner: Planner, graph: str, k: int, plans: str, window: int) -> Solver:
    if planner == "lm":
        return lm_planner(name, k, graph, window)
    if planner == "agent":
        return agent_planner(name, k, graph)
    if planner == "product":
        return product_planner(k, graph)
    return graph_planner(k, graph) if planner == "graph" else stored_plans(plans, k)


def _sample(instance: Instance) -> Sample:
    return Sample(id=instance.id, input=instance.title, metadata=instance.model_dump(mode="json"))
