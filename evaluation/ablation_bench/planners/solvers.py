"""Planners as Inspect solvers. Each writes a plan and its errors to the sample's store: `plan` (JSON lines), `problems`
(counts by kind), `left_out` (sections that did not fit)."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ResponseSchema,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import json_schema

from evaluation.ablation_bench.answers import Plan, PlanEntry, read_jsonl, read_plan
from evaluation.ablation_bench.instances.rows import Instance, TaskName, source
from evaluation.ablation_bench.instances.sections import shortened
from evaluation.ablation_bench.planners.graph_material import has_paper, in_words, read_material
from evaluation.ablation_bench.reading.agent import ask_agent
from xkg.agents.planning import with_model
from xkg.agents.planning.from_graph import propose
from xkg.agents.planning.plan import PlannedAblation
from xkg.llm.parse_answer import UnusableError, read_answer
from xkg.llm.prompt import load_prompt

PROMPTS = Path(__file__).parent / "prompts"
_ATTEMPTS = 3
NO_PAPER = "paper that the graph does not have"


@solver
def lm_planner(task: TaskName, k: int, graph: str = "", window: int = 100_000) -> Solver:
    """One question with the paper, up to `window` tokens of it (four characters each). If `graph` names a folder, the
    graph's knowledge is added."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        problems: Counter[str] = Counter()
        instance = Instance.model_validate(state.metadata)
        text, left_out = shortened(source(instance.paper), 4 * window)
        known = await _graph_text(graph, instance.title, problems)
        prompt = load_prompt(PROMPTS / f"plan_{task}.md")
        inputs = {"title": instance.title, "abstract": instance.abstract, "most": str(k), "graph": known, "paper": text}
        system, user = prompt.render(inputs)
        state.messages = [ChatMessageSystem(content=system), ChatMessageUser(content=user)]
        state = await generate(state)
        _leave(state, read_plan(state.output.completion, k), problems, left_out)
        return state

    return solve


@solver
def agent_planner(task: TaskName, k: int, graph: str = "") -> Solver:
    """A `react` agent that reads the paper's files and, with a graph, uses its MCP server. It sees its last five
    observations in full."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        instance = Instance.model_validate(state.metadata)
        prompt = load_prompt(PROMPTS / f"plan_{task}.md")
        inputs = {"title": instance.title, "abstract": instance.abstract, "most": str(k), "graph": "", "paper": ""}
        end, problems = await ask_agent(*prompt.render(inputs), instance.paper, graph)
        if graph and not await anyio.to_thread.run_sync(has_paper, Path(graph), instance.title):
            problems[NO_PAPER] += 1
        state.messages, state.output = end.messages, end.output
        _leave(state, read_plan(state.output.completion, k), problems, ())
        return state

    return solve


@solver
def product_planner(k: int, graph: str) -> Solver:
    """The planner of `xkg ablate plan`, using the model under evaluation. It reads only the graph."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        problems: Counter[str] = Counter()
        instance = Instance.model_validate(state.metadata)
        found = await anyio.to_thread.run_sync(read_material, Path(graph), instance.title)
        if found is None:
            _leave(state, Plan(()), Counter({NO_PAPER: 1}), ())
            return state
        material, view = found
        system, user = with_model.PROMPT.render(with_model.inputs(material, view, k))
        state.messages = [ChatMessageSystem(content=system), ChatMessageUser(content=user)]
        schema = ResponseSchema(name="ablations", json_schema=json_schema(with_model.Ablations), strict=True)
        entries: tuple[PlanEntry, ...] = ()
        for _ in range(_ATTEMPTS):
            state.output = await get_model().generate(state.messages, config=GenerateConfig(response_schema=schema))
            state.messages.append(state.output.message)
            try:
                answer = read_answer(state.output.completion, with_model.Ablations)
                complaint = with_model.objection(answer, material, k)
            except UnusableError as error:
                complaint = str(error)
            if complaint is None:
                entries = _entries(with_model.planned(answer, material))
                break
            problems["answer that the planner refused"] += 1
            state.messages.append(ChatMessageUser(content=f"That answer cannot be used: {complaint}"))
        _leave(state, Plan(entries), problems, ())
        return state

    return solve


@solver
def graph_planner(k: int, graph: str) -> Solver:
    """The planner of `xkg ablate plan --llm none`, which asks no model."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        instance = Instance.model_validate(state.metadata)
        found = await anyio.to_thread.run_sync(read_material, Path(graph), instance.title)
        if found is None:
            _leave(state, Plan(()), Counter({NO_PAPER: 1}), ())
        else:
            _leave(state, Plan(_entries(propose(found[0], k))), Counter(), ())
        return state

    return solve


@solver
def stored_plans(plans: str, k: int) -> Solver:
    """Plans made elsewhere: the file `<id>.jsonl` of a folder, in the benchmark's format. For an id PLANNER/PAPER, as
    in JudgeEval, the file is in the planner's folder or else has the paper's name alone."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        file = _plan_file(Path(plans), str(state.sample_id))
        if file is not None:
            plan = read_jsonl(file.read_text(encoding="utf-8", errors="replace"), k)
        else:
            plan = Plan((), Counter({"plan that is missing": 1}))
        _leave(state, plan, Counter(), ())
        return state

    return solve


def _plan_file(plans: Path, paper: str) -> Path | None:
    """The file of a paper's plan; None for an id that leads out of the folder."""
    for name in (paper, Path(paper).name):
        file = plans / f"{name}.jsonl"
        if file.is_file() and file.resolve().is_relative_to(plans.resolve()):
            return file
    return None


async def _graph_text(graph: str, title: str, problems: Counter[str]) -> str:
    if not graph:
        return ""
    found = await anyio.to_thread.run_sync(read_material, Path(graph), title)
    if found is None:
        problems[NO_PAPER] += 1
        return ""
    return in_words(*found)


def _entries(ablations: Sequence[PlannedAblation]) -> tuple[PlanEntry, ...]:
    return tuple(PlanEntry(a.name, a.ablated_part, a.action, a.replacement, a.metrics) for a in ablations)


def _leave(state: TaskState, plan: Plan, problems: Counter[str], left_out: tuple[str, ...]) -> None:
    problems = problems + plan.problems
    if not plan.entries:
        problems["empty plan"] += 1
    state.store.set("plan", plan.jsonl())
    state.store.set("problems", dict(problems))
    state.store.set("left_out", list(left_out))
    if not state.messages or not isinstance(state.messages[-1], ChatMessageAssistant):
        state.output.completion = plan.jsonl()
