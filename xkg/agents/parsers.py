"""The confined process for agents: the process for builds, with the agents' tasks added."""

from xkg.build.parsing.parsers import Parsers

_TASKS = ("xkg.agents.workspace.parsing", "xkg.agents.codification.parsing", "xkg.agents.ablation.parsing")


def agent_parsers() -> Parsers:
    """Returns the confined process. The process starts with the first call and stops when closed or
    garbage-collected."""
    return Parsers(tasks=_TASKS)
