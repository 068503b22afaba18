"""Reads the task to implement and the method's text. Options override the fields in a task file (`implement.yaml`)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from xkg.agents.codification.fields import Mode
from xkg.agents.workspace.program.metric import Metric
from xkg.agents.workspace.program.shell_line import started
from xkg.agents.workspace.task_file import read_fields, task_of
from xkg.build.paper.document import Document
from xkg.build.parsing.parsers import Parsers
from xkg.errors import ConfigError, InputError
from xkg.files import read_regular
from xkg.model import slug
from xkg.value import Value

_MOST_METHOD = 200_000
_PAPERS = (".tex", ".md", ".pdf", ".html", ".htm", ".gz", ".zip", ".tar", ".tgz")
_TEXTS = (".txt", ".rst", "")


class Task(Value):
    """A task. `method` is a file (`paper.tex#sec:method` for one section), a paper or technique in the graph, or the
    text itself. `run` is the command whose output or files contain `metric`. If the command `evaluate` is set, it
    reports the metric instead. `evaluate` runs on the files that `run` left behind. The edited files are added only if
    the evaluation fails without them. `script` is the file to start from, by default the first file mentioned in `run`.
    `baseline` is the starter's metric. If `baseline` is None, the metric is measured. `related` lists files and folders
    that belong to the method, in the starter or (read-only) elsewhere on this machine. `data` maps paths in the starter
    to folders that runs may read. `protect` lists additional parts of the evaluation (`path` or `path::function`). The
    evaluation may change only if `may_change_evaluation` is set."""

    method: str
    starter: str
    run: str
    metric: str
    evaluate: str | None = None
    script: str | None = None
    baseline: float | None = None
    pseudocode: str = ""
    data_description: str = ""
    related: tuple[str, ...] = ()
    data: Mapping[str, Path] = {}
    protect: tuple[str, ...] = ()
    may_change_evaluation: bool = False
    mode: Mode = "agent"
    graph: bool = True

    @property
    def parsed_metric(self) -> Metric:
        return Metric.parse(self.metric)

    @property
    def protected(self) -> tuple[str, ...]:
        """Returns the parts of the evaluation that the task specifies: `protect`, and files mentioned only in
        `evaluate`."""
        named = _files_named(self.evaluate) - _files_named(self.run) if self.evaluate else set()
        return (*self.protect, *sorted(named))


class Method(Value):
    """A method's text and its source. `parts` lists the names of the method's components in the graph, in build order.
    `library` describes these components with their code and levels, and related techniques. `notes` lists parts of the
    paper that the text omits."""

    text: str
    source: str
    parts: tuple[str, ...] = ()
    library: str = ""
    notes: tuple[str, ...] = ()


def _files_named(command: str) -> set[str]:
    """Returns the paths in a tree that a command's words may refer to. Includes the paths of modules with dotted
    names."""
    words = [(program, word) for program in started(command) for word in program.words]
    modules = [program.path(word.replace(".", "/")) for program, word in words]
    return {
        *(program.path(word) for program, word in words),
        *(f"{module}{end}" for module in modules for end in (".py", "/__main__.py")),
    }


def read_task(file: Path | None, flags: Mapping[str, Any]) -> Task:
    """Reads the task in a file. `flags` override the file's fields unless they are None or empty. Paths in the file are
    relative to the file's folder. Raises `InputError` if a field is missing or invalid."""
    fields = {} if file is None else _beside(read_fields(file, Task), file.parent)
    fields |= {name: value for name, value in flags.items() if value not in (None, (), [], {}, "")}
    if missing := [name for name in ("method", "starter", "run", "metric") if not fields.get(name)]:
        options = ", ".join(f"--{name}" for name in missing)
        raise InputError(f"the task is incomplete; pass {options}, or a file with --task")
    task = task_of(Task, fields)
    task.parsed_metric  # noqa: B018 - raises if the metric is invalid
    return task


def _beside(fields: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Converts paths relative to the task file's folder to paths relative to the working directory."""
    for name in ("method", "starter"):
        value = fields.get(name)
        path, mark, rest = value.partition("#") if isinstance(value, str) else ("", "", "")
        if path and len(path) < 1000 and "\n" not in path and not Path(path).is_absolute() and (folder / path).exists():
            fields[name] = f"{folder / path}{mark}{rest}"
    if isinstance(fields.get("related"), list):
        inside = folder / str(fields.get("starter", "")).partition("@")[0]
        fields["related"] = [_related_beside(str(each), folder, inside) for each in fields["related"]]
    if isinstance(fields.get("data"), dict):
        fields["data"] = {name: str(folder / str(place)) for name, place in fields["data"].items()}
    return fields


def _related_beside(name: str, folder: Path, starter: Path) -> str:
    """Converts a related file's path. Paths in the starter stay as they are. Paths relative to the task file's folder
    become relative to the working directory."""
    usable = 0 < len(name) < 1000 and "\0" not in name and not Path(name).is_absolute()
    of_starter = usable and (starter / name).exists() and not name.startswith("..")
    return str(folder / name) if usable and not of_starter and (folder / name).exists() else name


def read_method(task: Task, parsers: Parsers, in_graph: Callable[[str], Method | None] = lambda _: None) -> Method:
    """Reads the method's text. `in_graph` returns the method for a paper or technique in the graph. Raises `InputError`
    if the file is missing or empty, or if the section does not exist."""
    name, _, section = task.method.partition("#")
    if "\n" in task.method or len(name) > 1000 or (not Path(name).exists() and len(task.method.split()) > 3):
        return _bounded(task.method, "the given text")
    path = Path(name).expanduser()
    if not path.exists():
        if (known := in_graph(task.method)) is not None:
            return known
        raise InputError(
            f"the method {task.method!a} is not a file, a paper in the graph, or text; pass paper.tex#section, an id "
            "such as arxiv:1608.04471, or the text itself"
        )
    if path.suffix.lower() in _PAPERS or path.is_dir():
        return _of_paper(path, section, parsers)
    if path.suffix.lower() not in _TEXTS:
        raise InputError(f"{path}: the method must be a .tex, .md, .pdf, .html or .txt file")
    try:
        text = read_regular(path, _MOST_METHOD * 4).decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error})") from error
    return _bounded(text, str(path))


def _of_paper(path: Path, section: str, parsers: Parsers) -> Method:
    document = parsers.paper(path)
    if not section:
        return _whole_paper(document, path)
    wanted = slug(section.removeprefix("sec:"))
    for candidate in document.walk():
        inner = min((child.start for child in candidate.children), default=candidate.end)
        head = document.text[candidate.start : min(candidate.body_start + 200, inner)]
        if f"\\label{{{section}}}" in head or wanted in (slug(candidate.title), slug(candidate.number or "?")):
            return _bounded(document.text[candidate.start : candidate.end], f"{path}, {candidate.title}")
    titles = ", ".join(each.title for each in document.walk()[:12])
    raise InputError(f"{path} has no section {section!a}; available sections: {titles}")


def _whole_paper(document: Document, path: Path) -> Method:
    """Returns a paper's method sections. If the paper is short or has no method sections, returns its whole text."""
    from xkg.agents.codification.method_text import MOST_CHARACTERS, method_text

    if len(document.text) <= MOST_CHARACTERS or (method := method_text(document)) is None:
        return _bounded(document.text, str(path))
    note = f"using the method sections of {path}; to use another section, pass {path.name}#3"
    notes = [note, method.note()]
    found = _bounded(method.text, f"{path}, its sections on the method")
    return found.model_copy(update={"notes": tuple(filter(None, notes))})


def _bounded(text: str, source: str) -> Method:
    if len(text.strip()) < 20:
        raise InputError(f"the method in {source} is empty; describe the method to implement")
    if len(text) > _MOST_METHOD:
        raise InputError(
            f"the method in {source} has {len(text):,} characters, more than {_MOST_METHOD:,}; choose a section"
        )
    return Method(text=text.strip(), source=source)


def require_model(model: str) -> None:
    """Raises `ConfigError` if no model is configured."""
    if model == "none":
        raise ConfigError("xkg implement needs a language model, but llm.model is none; set it, for example to o4-mini")
