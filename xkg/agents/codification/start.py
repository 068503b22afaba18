"""Starts a run with the settings for the sandbox, packages, graph and models."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from xkg.agents.codification.library import Library
from xkg.agents.codification.parsing import CodeReader
from xkg.agents.codification.result import CodificationResult
from xkg.agents.codification.run import codify, run_name
from xkg.agents.codification.task import Task, read_method, require_model
from xkg.agents.parsers import agent_parsers
from xkg.agents.workspace.command import Commands, packages_for
from xkg.agents.workspace.files.starter import read_starter
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.related_files import read_related
from xkg.config import Settings
from xkg.files import private_folder
from xkg.llm.client import LanguageModel
from xkg.llm.prices import model_of
from xkg.sandbox.packages.environments import UvEnvironments
from xkg.sandbox.runner import Environment, Limits
from xkg.sandbox.select import runner_for
from xkg.serve.service import Service

_WITHOUT_KEY = "`xkg implement` needs a language model; to use your own endpoint, set llm.base_url"
RUNS = "runs"
"""The name of the runs folder in a graph."""


def implement(
    settings: Settings,
    task: Task,
    notify: Callable[[object], None] = lambda _: None,
    *,
    roots: Sequence[Path] | None = None,
) -> CodificationResult:
    """Runs or resumes a task (see `xkg.agents.codification.run.codify`). If `roots` is not None, starter folders and
    related files must be inside one of these folders.

    Raises `InputError` if the task, the starter or the baseline is unusable. Raises `SandboxUnavailableError` if this
    machine cannot sandbox code, and `ModelUnavailableError` if the model has no key."""
    require_model(settings.llm.model)
    private_folder(settings.kg)
    runner = runner_for(settings.sandbox)
    options = settings.implement
    limits = Limits(seconds=options.seconds, memory_mb=options.memory_mb, disk_mb=options.disk_mb)
    starter = read_starter(task.starter, settings.kg / "repositories", roots)
    related = read_related(task.related, starter.files, roots)
    with ExitStack() as opened:
        parsers = opened.enter_context(agent_parsers())
        library = Library(opened.enter_context(closing(Service(settings, parsers))), graph=task.graph)
        method = read_method(task, parsers, library.method)
        models = [model_of(settings.llm, role) for role in ("code_model", "stronger_model", "expert_model")]
        asked = settings.environment.model_dump(include={"packages", "cpu"}, exclude_defaults=True)
        name = run_name(task, method, starter, models, related.identity, asked)
        maker = UvEnvironments(settings.environment, runner, notify)
        reader = CodeReader(parsers)

        def packages(workspace: Workspace, modules: Sequence[str] = ()) -> Environment:
            return packages_for(workspace, maker, reader, data=task.data, modules=modules)

        def commands(workspace: Workspace) -> Commands:
            return Commands(runner, packages(workspace), limits, task.data)

        model = opened.enter_context(LanguageModel(settings.llm, settings.kg, notify, without_key=_WITHOUT_KEY))
        private_folder(settings.kg / RUNS)
        folder = settings.kg / RUNS / name
        return codify(
            task,
            method,
            starter,
            folder,
            model,
            library,
            commands,
            reader,
            settings.implement,
            notify,
            related,
            packages,
        )
