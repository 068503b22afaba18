"""Generates the JSON fields page."""

import re
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from scripts.reference.markdown import page, prose, table
from scripts.reference.type_names import type_in_words
from xkg.agents.codification.result import CodificationResult
from xkg.agents.planning.plan import AblationPlan
from xkg.build.curation.curated_set import CuratedSet
from xkg.commands import ablate, build, doctor, implement, published, update, verify
from xkg.commands.batch.run import BatchReport
from xkg.commands.graph import audit, contents, copy, diff, link
from xkg.commands.library import pull, push
from xkg.llm import costs
from xkg.serve.answers import types as answers
from xkg.serve.context.context import ContextAnswer
from xkg.serve.jobs.answers import JobAnswer, JobsAnswer
from xkg.serve.jobs.open_questions import QuestionsAnswer, TakenAnswer
from xkg.serve.running.answer import RunAnswer
from xkg.serve.search.related import RelatedAnswer

PRINTED: Mapping[str, str] = {
    "papers": "PapersAnswer",
    "search": "SearchAnswer; with `--with-code` also `implementations`, a CodeAnswer for each row",
    "search --task": "ImplementationsAnswer",
    "show --related": "RelatedAnswer",
    "context": "ContextAnswer",
    "show": "PaperAnswer, TechniqueAnswer or CodeAnswer",
    "locate": "LocateAnswer",
    "ablate plan": "AblationPlan",
    "run": "RunAnswer",
    "build": "BuildResult; BatchReport for several papers or with `--papers`, `--curate`, `--jobs`, `--engine` or "
    "`--html`",
    "build --dry-run": "BuildPlan; for several papers, a list of them",
    "curate": "CuratedSet; BatchReport with `--build`",
    "check-blacklist": "AuditResult",
    "update": "UpdateResult",
    "diff": "DiffResult",
    "verify": "VerifyResult",
    "costs": "Costs",
    "ablate": "AblateResult",
    "ablate report": "AblateResult",
    "concepts": "LinkResult",
    "import": "ImportResult",
    "export": "ExportResult",
    "remove": "RemoveResult",
    "push": "PushedPapers",
    "pull": "PulledPapers",
    "cypher": "a list of rows, each an object keyed by column name; a repeated name gets the suffix `_2`",
    "cypher --list": "a list of `name`, `group`, `summary`, `parameters` (`name`, `type`, `default`, `description`), "
    "`example`",
    "doctor": "Report",
    "implement": "CodificationResult",
    "implement apply": "Applied",
    "index check": "IndexReport",
    "store copy": "CopyResult",
    "store push": "PushResult",
    "trust list": "a list of `name`, `fingerprint`, `key`, `added`, `revoked`",
    "token list": "a list of `name`, `scopes`, `created`, `expires`, `revoked`, `state`",
}
"""Maps each command to what it prints with `--json`. A test checks that no command is missing."""

_PRINTED_TYPES: tuple[type[BaseModel], ...] = (
    answers.PapersAnswer,
    answers.SearchAnswer,
    answers.ImplementationsAnswer,
    RelatedAnswer,
    ContextAnswer,
    answers.PaperAnswer,
    answers.TechniqueAnswer,
    answers.CodeAnswer,
    answers.LocateAnswer,
    RunAnswer,
    AblationPlan,
    published.BuildResult,
    BatchReport,
    build.BuildPlan,
    CuratedSet,
    audit.AuditResult,
    update.UpdateResult,
    diff.DiffResult,
    verify.VerifyResult,
    ablate.AblateResult,
    costs.Costs,
    link.LinkResult,
    contents.ImportResult,
    contents.ExportResult,
    contents.RemoveResult,
    push.PushedPapers,
    pull.PulledPapers,
    doctor.Report,
    contents.IndexReport,
    copy.CopyResult,
    contents.PushResult,
    CodificationResult,
    implement.Applied,
)
_TYPES_OF_TOOLS: tuple[type[BaseModel], ...] = (
    answers.SchemaAnswer,
    answers.CypherAnswer,
    JobAnswer,
    JobsAnswer,
    QuestionsAnswer,
    TakenAnswer,
)


def json_fields() -> str:
    intro = (
        "Every command that reads data accepts `--json` (`cypher` also `--format json`). These fields are stable: they "
        "also form the structured content of the [MCP tools](mcp.md), which omit empty fields, and the types in the "
        "[Python API](python.md). Answers that quote papers include `notice`, which says that quoted text is data. "
        "Empty lists are `[]`, and the output is ASCII."
    )
    models = _with_parts([*_PRINTED_TYPES, *_TYPES_OF_TOOLS])
    links = {model.__name__: f"[{model.__name__}](#{model.__name__.lower()})" for model in models}
    names = re.compile(rf"\b({'|'.join(links)})\b")
    rows = ((f"`{name}`", names.sub(lambda match: links[match[0]], what)) for name, what in PRINTED.items())
    parts = [intro, table(("command", "prints"), rows), *map(_model, models)]
    return page("JSON fields", "the types of the answers", parts)


def _with_parts(models: Iterable[type[BaseModel]]) -> list[type[BaseModel]]:
    """Returns these models without duplicates, each followed by the models in its fields."""
    found: dict[type[BaseModel], None] = {}

    def add(model: type[BaseModel]) -> None:
        if model not in found:
            found[model] = None
            model.model_rebuild()
            for field in model.model_fields.values():
                for part in _models_in(field.annotation):
                    add(part)

    for model in models:
        add(model)
    return list(found)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)


def _model(model: type[BaseModel]) -> str:
    rows = ((f"`{name}`", type_in_words(field.annotation, linked=True)) for name, field in model.model_fields.items())
    described = prose(model.__dict__.get("__doc__"))
    return "\n\n".join(part for part in (f"## {model.__name__}", described, table(("field", "type"), rows)) if part)
