"""The confined process of agents: that of builds, with what agents ask of code."""

from xkg.build.parsing.parsers import Parsers

_TASKS = ("xkg.agents.workspace.parsing", "xkg.agents.codification.parsing", "xkg.agents.ablation.parsing")


def agent_parsers() -> Parsers:
    """Starts with the first call, and ends when it is closed, or with the object."""
    return Parsers(tasks=_TASKS)
