"""The confined process for agents: the same as for builds, with the agents' tasks added."""

from xkg.build.parsing.parsers import Parsers

_TASKS = ("xkg.agents.workspace.parsing", "xkg.agents.codification.parsing", "xkg.agents.ablation.parsing")


def agent_parsers() -> Parsers:
    """The confined process, which starts with the first call and stops when it is closed or garbage-collected."""
    return Parsers(tasks=_TASKS)
