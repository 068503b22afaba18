r"""Runs agents that replicate papers, as Inspect tasks:

    inspect eval evaluation/paperbench/tasks.py@react_agent --model openai/… --model-role grader=openai/… \
        -T tasks=evaluation/paperbench/example -T kg=storage/default

    react_agent        a ReAct agent that ends when it submits
    iterative_agent    an agent that continues until it runs out of messages
    papercoder_flow    PaperCoder's fixed workflow, with the two views from evaluation.export_context
                       (-T contexts=FOLDER)

`tasks` is a folder of tasks (paper.md, blacklist.txt, rubric.json) or one task. With `kg`, the agents have the tools of
`xkg serve`, which excludes blacklisted sources and the paper itself. Without `kg`, the agents get nothing from the
graph. Run the agents with and without `kg`, and compare the results with `python -m evaluation.paperbench.gains`.
Agents write files but do not run anything, so only code development leaves are scored (`-T code_development=false`
scores all leaves). A paper longer than `paper_tokens` is cut at a section, with a note."""

import re
import tempfile
from pathlib import Path
from typing import Literal

from inspect_ai import Task, task
from inspect_ai.agent import AgentState, as_solver, react
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolSource

from evaluation.export_context import IMPLEMENTATION, PLANNING, tasks_in
from evaluation.inputs.graph import check_graph
from evaluation.inputs.inspect_tasks import checked, cut_paper, given_path, graph_tools
from evaluation.paperbench.judge import rubric_tree
from evaluation.paperbench.papercoder import papercoder
from evaluation.paperbench.rubric import read_rubric
from evaluation.paperbench.workspace import tools
from xkg.errors import InputError

_INSTRUCTIONS = (
    "Replicate the method and the experiments of the following paper as a code repository. You cannot run anything. "
    "Implement everything exactly as the paper says; no placeholders."
)
_BY_TOOLS = "Write its files with write_file."
_WITH_GRAPH = (
    "You also have tools over a graph of techniques and code of other papers: search it for each part before you write "
    "it, and adapt what fits to this paper's settings."
)
_GO_ON = (
    "Go on: compare the submission with the paper, part by part, and improve or complete one part now with write_file."
)


@task
@checked
def react_agent(
    tasks: str, kg: str = "", code_development: bool = True, messages: int = 100, paper_tokens: int = 100_000
) -> Task:
    """A ReAct agent (arXiv 2210.03629) with the graph's tools if `kg` is specified."""
    return _task(tasks, _agent(kg, "react"), code_development, messages, paper_tokens)


@task
@checked
def iterative_agent(
    tasks: str, kg: str = "", code_development: bool = True, messages: int = 200, paper_tokens: int = 100_000
) -> Task:
    """PaperBench's iterative agent, which cannot stop early. The agent is asked for another step until it reaches the
    limit of `messages`."""
    return _task(tasks, _agent(kg, "iterative"), code_development, messages, paper_tokens)


@task
@checked
def papercoder_flow(tasks: str, contexts: str = "", code_development: bool = True, paper_tokens: int = 100_000) -> Task:
    """PaperCoder's workflow with the views in `contexts`, or without views if `contexts` is not specified."""
    return _task(tasks, papercoder(), code_development, None, paper_tokens, given_path(contexts) if contexts else None)


def _task(
    tasks: str,
    chosen: Solver,
    code_development: bool,
    messages: int | None,
    paper_tokens: int,
    contexts: Path | None = None,
) -> Task:
    folders, problems = tasks_in(given_path(tasks))
    samples = [sample(folder, paper_tokens, contexts) for folder in folders]
    return Task(
        dataset=MemoryDataset(samples),
        solver=chosen,
        scorer=rubric_tree(code_development=code_development),
        message_limit=messages,
        metadata={"left_out": problems} if problems else None,
    )


def sample(folder: Path, paper_tokens: int, contexts: Path | None = None) -> Sample:
    """Returns the sample for a task folder. Raises `InputError` if its rubric is unusable or its context is missing."""
    rubric = folder / "rubric.json"
    read_rubric(rubric)
    paper, cut = cut_paper((folder / "paper.md").read_text(encoding="utf-8", errors="replace"), paper_tokens)
    metadata = {"rubric": str(rubric), "blacklist": str(folder / "blacklist.txt"), "title": _title(paper), "cut": cut}
    if contexts is not None:
        for key, name in (("planning", PLANNING), ("implementation", IMPLEMENTATION)):
            file = contexts / folder.name / name
            if not file.is_file():
                raise InputError(f"{file} does not exist; create it with python -m evaluation.export_context")
            metadata[key] = str(file)
    return Sample(id=folder.name, input="\n\n".join(filter(None, (_INSTRUCTIONS, paper, cut))), metadata=metadata)


def _title(paper: str) -> str:
    heading = re.search(r"^# (.{1,300})$", paper, re.MULTILINE)
    return heading[1].strip() if heading else ""


@solver
def _agent(kg: str, kind: Literal["react", "iterative"]) -> Solver:
    """Creates an agent with a separate graph server for each sample, because each sample has a separate blacklist."""
    kg_path = given_path(kg) if kg else None
    if kg_path is not None:
        check_graph(kg_path)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        with tempfile.TemporaryDirectory(prefix="xkg-paperbench-") as folder:
            all_tools: list[Tool | ToolSource] = [*tools()]
            if kg_path is not None:
                all_tools.append(graph_tools(str(kg_path), _blacklist(state.metadata, Path(folder))))
            prompt = _BY_TOOLS if kg_path is None else f"{_BY_TOOLS} {_WITH_GRAPH}"
            if kind == "react":
                agent = react(prompt=prompt, tools=all_tools)
            else:
                agent = react(prompt=prompt, tools=all_tools, submit=False, on_continue=_next_step)
            return await as_solver(agent)(state, generate)

    return solve


async def _next_step(state: AgentState) -> bool | str:
    """Always continues, asking an agent that has stopped calling tools for the next step."""
    return True if state.output.message.tool_calls else _GO_ON


def _blacklist(metadata: dict[str, str], folder: Path) -> Path:
    """Returns a task's blacklist plus the paper itself."""
    blacklist = folder / "blacklist.txt"
    listed = Path(metadata["blacklist"]).read_text(encoding="utf-8", errors="replace").rstrip()
    own = f"\ntitle: {metadata['title']}" if metadata["title"] else ""
    blacklist.write_text(f"{listed}{own}\n", encoding="utf-8")
    return blacklist
