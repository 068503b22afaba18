"""Agents that replicate papers, as Inspect tasks:

    inspect eval evaluation/paperbench/tasks.py@react_agent --model openai/… --model-role grader=openai/… \\
        -T tasks=evaluation/paperbench/example -T kg=storage/default

    react_agent        a ReAct agent that ends when it submits
    iterative_agent    an agent that continues until its messages run out
    papercoder_flow    PaperCoder's fixed workflow, with the two views of evaluation.export_context (-T contexts=FOLDER)

`tasks` is a folder of tasks (paper.md, blacklist.txt, rubric.json) or one task. With `kg` the agents have the tools of
`xkg serve`, which excludes blacklisted sources and the paper itself. Without it they have nothing from the graph. Run
both and compare with `python -m evaluation.paperbench.gains`. Agents write files but run nothing, so only leaves of
code development are scored (`-T code_development=false`: all). A paper longer than `paper_tokens` is cut at a section,
with a note."""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Literal

from inspect_ai import Task, task
from inspect_ai.agent import AgentState, as_solver, react
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolSource, mcp_server_stdio, mcp_tools

from evaluation.inputs.graph import check_graph
from evaluation.inputs.paths import given_path
from evaluation.inputs.task_parameters import checked
from evaluation.paperbench.export import IMPLEMENTATION, PLANNING, tasks_in
from evaluation.paperbench.judge import rubric_tree
from evaluation.paperbench.papercoder import papercoder
from evaluation.paperbench.rubric import read_rubric
from evaluation.paperbench.workspace import tools
from xkg.errors import InputError
from xkg.llm.prices import tokens

_CHARACTERS_A_TOKEN = 4
_SECTION = re.compile(r"^#{1,3} ", re.MULTILINE)
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
    """A ReAct agent (arXiv 2210.03629) with the tools of the graph, or without them if no `kg` is named."""
    return _task(tasks, _agent(kg, "react"), code_development, messages, paper_tokens)


@task
@checked
def iterative_agent(
    tasks: str, kg: str = "", code_development: bool = True, messages: int = 200, paper_tokens: int = 100_000
) -> Task:
    """PaperBench's iterative agent: it cannot stop early, and is asked for the next step until its messages run out."""
    return _task(tasks, _agent(kg, "iterative"), code_development, messages, paper_tokens)


@task
@checked
def papercoder_flow(tasks: str, contexts: str = "", code_development: bool = True, paper_tokens: int = 100_000) -> Task:
    """PaperCoder's workflow with the views in `contexts`, or without them if none is named."""
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
    """The sample of a task folder. Raises `InputError` if its rubric is unusable or the context of a task is
    missing."""
    rubric = folder / "rubric.json"
    read_rubric(rubric)
    paper, cut = cut_paper((folder / "paper.md").read_text(encoding="utf-8", errors="replace"), paper_tokens)
    metadata = {"rubric": str(rubric), "blacklist": str(folder / "blacklist.txt"), "title": _title(paper), "cut": cut}
    if contexts is not None:
        for key, name in (("planning", PLANNING), ("implementation", IMPLEMENTATION)):
            file = contexts / folder.name / name
            if not file.is_file():
                raise InputError(f"{file} is not there: write it with python -m evaluation.export_context")
            metadata[key] = str(file)
    return Sample(id=folder.name, input=f"{_INSTRUCTIONS}\n\n{paper}{cut}", metadata=metadata)


def cut_paper(text: str, most_tokens: int) -> tuple[str, str]:
    """The paper's first sections that fit, and a line about the omitted ones; '' if nothing was cut."""
    if tokens(text) <= most_tokens:
        return text, ""
    room = most_tokens * _CHARACTERS_A_TOKEN
    starts = [match.start() for match in _SECTION.finditer(text) if 0 < match.start() <= room]
    end = starts[-1] if starts else room
    left = _SECTION.findall(text[end:])
    return text[:end], f"\n\n[cut to fit: {len(left)} sections, {len(text) - end:,} characters at the end]"


def _title(paper: str) -> str:
    heading = re.search(r"^# (.{1,300})$", paper, re.MULTILINE)
    return heading[1].strip() if heading else ""


@solver
def _agent(kg: str, kind: Literal["react", "iterative"]) -> Solver:
    """An agent with a separate graph server for each sample, because each has its own blacklist."""
    kg_path = given_path(kg) if kg else None
    if kg_path is not None:
        check_graph(kg_path)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        with tempfile.TemporaryDirectory(prefix="xkg-paperbench-") as folder:
            graph: list[ToolSource] = []
            if kg_path is not None:
                graph = [_graph_tools(kg_path, state.metadata, Path(folder))]
            prompt = _BY_TOOLS if kg_path is None else f"{_BY_TOOLS} {_WITH_GRAPH}"
            if kind == "react":
                agent = react(prompt=prompt, tools=[*tools(), *graph])
            else:
                agent = react(prompt=prompt, tools=[*tools(), *graph], submit=False, on_continue=_next_step)
            return await as_solver(agent)(state, generate)

    return solve


async def _next_step(state: AgentState) -> bool | str:
    """Continues in any case. If the agent has stopped calling tools, it is asked for the next step."""
    return True if state.output.message.tool_calls else _GO_ON


def _graph_tools(kg: Path, metadata: dict[str, str], folder: Path) -> ToolSource:
    """The tools of `xkg serve` on this graph, without blacklisted papers and the paper itself."""
    blacklist = folder / "blacklist.txt"
    listed = Path(metadata["blacklist"]).read_text(encoding="utf-8", errors="replace").rstrip()
    own = f"\ntitle: {metadata['title']}" if metadata["title"] else ""
    blacklist.write_text(f"{listed}{own}\n", encoding="utf-8")
    beside = Path(sys.executable).parent / "xkg"
    command = str(beside) if beside.is_file() else shutil.which("xkg")
    if command is None:
        raise InputError("the command xkg is not installed beside this Python; install the project first")
    given = {name: value for name, value in os.environ.items() if name.startswith(("XKG_", "NEO4J_"))}
    server = mcp_server_stdio(
        name="xkg",
        command=command,
        args=["--kg", str(kg), "serve"],
        cwd=os.environ.get("PWD"),  # the shell's working folder, with its xkg.yaml
        env={**given, "XKG_SERVE__EXCLUDE": str(blacklist), "XKG_LLM__MODEL": "none"},
    )
    return mcp_tools(server)
