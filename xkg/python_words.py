"""Rewords errors and notes for Python users: methods and arguments instead of MCP tools and command options."""

import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

from xkg.errors import XkgError
from xkg.serve.answers.notes import reworded

T = TypeVar("T", bound=type)

METHODS = {
    "search_techniques": "kg.search",
    "find_implementations": "kg.find_implementations",
    "related_papers": "kg.related",
    "list_papers": "kg.papers()",
    "get_paper": "kg.paper",
    "get_technique": "kg.technique",
    "get_code": "kg.code",
    "plan_context": "kg.context",
    "graph_schema": "kg.schema()",
    "run_code": "kg.run",
    "job_status": "kg.job",
}
"""MCP tools whose Python methods have a different name."""

OPTIONS = {
    "--kg": "xkg.open(folder)",
    "--repo": "repository=",
    "--id": "paper_id=",
    "--paper": "paper=",
    "--metric": "metrics=",
    "--seed": "seeds=",
    "--allow-host": "allow_hosts=",
    "--device": "devices=",
    "--llm": 'llm={"model": …}',
    "--max-cost": 'llm={"max_cost": …}',
    "--max-total-cost": 'llm={"max_total_cost": …}',
    "--with": 'environment={"packages": […]}',
    "--cpu": 'environment={"cpu": True}',
}
"""Options whose Python arguments have a different name. All other arguments are named like the option, with underscores
instead of dashes."""

_WORDS = (
    (re.compile(r"`--llm none`|--llm none\b"), 'llm={"model": "none"}'),
    (re.compile(r"`xkg (import|build|update|verify|curate|remove|export|link)\b[^`]*`"), r"kg.\1"),
    (re.compile(r"kg\.import\b"), "kg.import_"),
    (re.compile(r"; call job_status without a job to list your jobs"), "; pass the id that kg.start_build returned"),
    (re.compile(r" with detail='full'|, or detail='full'"), ""),
    (re.compile(r"pass the cursor|start again without a cursor"), "pass a larger k"),
    (re.compile(r"read its uri"), "see its fields"),
    (re.compile(r"to search a repository, pass its folder"), "to search a repository, pass repository=FOLDER"),
    (re.compile(r"\b(" + "|".join(METHODS) + r")\b"), lambda found: METHODS[found[1]]),
    (re.compile(r"(?<![\w-])--[a-z][a-z-]+"), lambda found: _argument(found[0])),
)


def for_programs(text: str) -> str:
    """Returns the text with tools and options replaced by `xkg.KnowledgeGraph` methods and their arguments."""
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    return text


def in_python_words(kind: T) -> T:
    """Wraps the class so that errors from its public methods mention Python methods and arguments."""
    methods = {name: method for each in reversed(kind.__mro__) for name, method in vars(each).items()}
    for name, method in methods.items():
        if not name.startswith("_") and callable(method):
            setattr(kind, name, _worded(method))
    return kind


def _worded(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return reworded(method(*args, **kwargs), for_programs)
        except XkgError as error:
            error.args = (for_programs(str(error)),)
            raise

    return call


def _argument(option: str) -> str:
    return OPTIONS.get(option, option.removeprefix("--").replace("-", "_") + "=")
