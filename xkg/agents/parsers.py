"""Adds the agents' tasks to the confined parsing process that builds use."""

from xkg.build.parsing.parsers import Parsers

_TASKS = ("xkg.agents.workspace.parsing", "xkg.agents.codification.parsing", "xkg.agents.ablation.parsing")


def agent_parsers() -> Parsers:
    """Returns the confined process, which starts with the first call and stops when it is closed or
    garbage-collected."""
    return Parsers(tasks=_TASKS)
