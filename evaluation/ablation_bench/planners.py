"""Runs planners as an Inspect solver. Each planner writes a plan and its errors to the sample's store: `plan` (JSON
lines), `problems` (counts by kind), `cut` (the text that did not fit).

- `lm`: one question with the paper, and with the graph's knowledge if there is a graph
- `agent`: a `react` agent with the paper and, if there is a graph, the tools from its MCP server
- `product`: the planner from `xkg ablate plan`, using the model under evaluation; it reads only the graph
- `graph`: the same without a model
- `stored`: plans made elsewhere, in the file `<id>.jsonl` in a folder
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import anyio.to_thread
from inspect_ai.agent import AgentPrompt, AgentSubmit, react, run
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ResponseSchema,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import json_schema, message_limit

from evaluation.ablation_bench.instances import Instance, TaskName, source
from evaluation.ablation_bench.judge import PROMPTS
from evaluation.ablation_bench.plans import Plan, PlanEntry, read_jsonl, read_plan
from evaluation.inputs.inspect_tasks import cut_paper, graph_tools
from xkg.agents.planning import with_model
from xkg.agents.planning.ablations import context
from xkg.agents.planning.from_graph import propose
from xkg.agents.planning.material import Material, gather
from xkg.agents.planning.plan import PlannedAblation
from xkg.config import load
from xkg.errors import UnknownIdError
from xkg.llm.parse_answer import UnusableError, read_answer
from xkg.llm.prompt import load_prompt
from xkg.serve.service import Service

Planner = Literal["lm", "agent", "product", "graph", "stored"]
MOST_MESSAGES = 100
_ATTEMPTS = 3
_NO_PAPER = Counter({"paper that the graph does not have": 1})
_TOOLS = (
    "You also have the tools of a knowledge graph, built from this text and from other papers. Begin with "
    "plan_context, with the paper's title: it has the components of the method; search_techniques, get_technique and "
    "related_papers find what other papers do in their place."
)


@solver
def planner(kind: Planner, task: TaskName, k: int, graph: str, plans: str, window: int) -> Solver:
    """Writes a plan with the named planner. `graph` is a graph's folder or '', and `plans` is the folder of stored
    plans. The model sees up to `window` tokens of a paper."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        instance = Instance.model_validate(state.metadata)
        found = await anyio.to_thread.run_sync(_material, Path(graph), instance.title) if graph else None
        problems = Counter() if found or not graph else +_NO_PAPER
        cut = ""
        if kind == "stored":
            plan = _stored(Path(plans), str(state.sample_id), k)
        elif kind == "graph":
            plan = Plan(_entries(propose(found[0], k)) if found else ())
        elif kind == "product":
            plan = await _ask_product(state, *found, k) if found else Plan(())
        else:
            paper, cut = cut_paper(source(instance.paper), window)
            known = _in_words(*found) if found and kind == "lm" else ""
            inputs = {"title": instance.title, "abstract": instance.abstract, "most": str(k), "graph": known}
            question = load_prompt(PROMPTS / f"plan_{task}.md").render(inputs | {"paper": paper})
            ask = _ask_once if kind == "lm" else _ask_agent
            problems += await ask(state, *question, graph)
            plan = read_plan(state.output.completion, k)
        problems += plan.problems + Counter({"empty plan": int(not plan.entries)})
        state.store.set("plan", plan.jsonl())
        state.store.set("problems", dict(problems))
        state.store.set("cut", cut)
        if not state.messages or not isinstance(state.messages[-1], ChatMessageAssistant):
            state.output.completion = plan.jsonl()
        return state

    return solve


async def _ask_once(state: TaskState, system: str, question: str, _: str) -> Counter[str]:
    state.messages = [ChatMessageSystem(content=system), ChatMessageUser(content=question)]
    state.output = await get_model().generate(state.messages)
    state.messages.append(state.output.message)
    return Counter()


async def _ask_agent(state: TaskState, system: str, question: str, graph: str) -> Counter[str]:
    """Asks an agent. If it has not submitted an answer after `MOST_MESSAGES` messages, stops it and uses its last
    message as the answer."""
    agent = react(
        prompt=AgentPrompt(instructions=f"{system}\n\n{_TOOLS}" if graph else system),
        tools=[graph_tools(graph)] if graph else [],
        submit=AgentSubmit(description="Submit the whole answer: discussion and predictions.", answer_only=True),
    )
    end, limit = await run(agent, [ChatMessageUser(content=question)], limits=[message_limit(MOST_MESSAGES)])
    state.messages, state.output = end.messages, end.output
    return Counter({f"agent stopped after {MOST_MESSAGES} messages": int(limit is not None)})


async def _ask_product(state: TaskState, material: Material, view: str, k: int) -> Plan:
    system, user = with_model.PROMPT.render(with_model.inputs(material, view, k))
    state.messages = [ChatMessageSystem(content=system), ChatMessageUser(content=user)]
    schema = ResponseSchema(name="ablations", json_schema=json_schema(with_model.Ablations), strict=True)
    for refused in range(_ATTEMPTS):
        state.output = await get_model().generate(state.messages, config=GenerateConfig(response_schema=schema))
        state.messages.append(state.output.message)
        try:
            answer = read_answer(state.output.completion, with_model.Ablations)
            complaint = with_model.objection(answer, material, k)
        except UnusableError as error:
            complaint = str(error)
        if complaint is None:
            problems = Counter({"answer that the planner refused": refused})
            return Plan(_entries(with_model.planned(answer, material)), problems)
        state.messages.append(ChatMessageUser(content=f"That answer cannot be used: {complaint}"))
    return Plan((), Counter({"answer that the planner refused": _ATTEMPTS}))


def _stored(plans: Path, paper: str, k: int) -> Plan:
    """Reads a stored plan. If the id has the form PLANNER/PAPER, as in JudgeEval, looks in the planner's folder first,
    and then for a file with only the paper's name. Returns no plan for an id that leads outside the folder."""
    for name in (paper, Path(paper).name):
        file = plans / f"{name}.jsonl"
        if file.is_file() and file.resolve().is_relative_to(plans.resolve()):
            return read_jsonl(file.read_text(encoding="utf-8", errors="replace"), k)
    return Plan((), Counter({"missing plan": 1}))


def _material(graph: Path, title: str) -> tuple[Material, str] | None:
    """Returns the material and planning view for the paper with this title, or None if the graph does not contain it.
    Raises `XkgError` for an unreadable graph."""
    service = Service(load(kg=graph))
    try:
        material = gather(service, title)
        return material, context(service, material.paper)
    except UnknownIdError:
        return None
    finally:
        service.close()


def _in_words(material: Material, view: str) -> str:
    """Combines the planning view with the components and possible replacements for them from other papers."""
    return f"{view}\n\n# Components, with what other papers do\n\n{with_model.describe(material.components)}"


def _entries(ablations: Sequence[PlannedAblation]) -> tuple[PlanEntry, ...]:
    return tuple(
        PlanEntry(
            name=a.name, ablated_part=a.ablated_part, action=a.action, replacement=a.replacement, metrics=a.metrics
        )
        for a in ablations
    )
