"""Implements `xkg ablate`, which reproduces an experiment, ablates its components, writes a report, and stores the
measurements."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree

from xkg.agents.ablation import parsing
from xkg.agents.ablation.campaign import Start, ledger_name, run_campaign
from xkg.agents.ablation.candidates import Component
from xkg.agents.ablation.measurements import measurements
from xkg.agents.ablation.mutation import apply as changed
from xkg.agents.ablation.outcomes import Campaign, ModelUse
from xkg.agents.ablation.report import rows
from xkg.agents.ablation.report.markdown import markdown
from xkg.agents.ablation.running.on_engine import spread_over
from xkg.agents.ablation.task import Task
from xkg.agents.ablation.techniques import paper_with_techniques, techniques_of
from xkg.agents.parsers import agent_parsers
from xkg.agents.workspace.files import apply as results
from xkg.agents.workspace.files.apply import branch
from xkg.agents.workspace.files.starter import read_starter
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.parsing import SourceReader
from xkg.agents.workspace.program.evaluation import literal
from xkg.agents.workspace.program.stated_commands import require_script
from xkg.build.repositories.checkout import read_folder
from xkg.commands.graph.open import open_service, open_store
from xkg.config import Settings
from xkg.engine.engine import Engine
from xkg.errors import InputError, StoreBusyError, UnknownIdError
from xkg.files import file_lock, private_folder, said_when_full, write_whole
from xkg.llm.client import Call, LanguageModel
from xkg.llm.costs import costs
from xkg.model import slug
from xkg.sandbox.isolation.gpus import gpus
from xkg.sandbox.packages.environments import UvEnvironments
from xkg.sandbox.packages.plan import Installing
from xkg.sandbox.select import runner_for
from xkg.value import Value

RESULTS = "results.json"
_WHEN_FULL = "free some space, or choose a folder with --out, and run the same command again; finished work is kept"
REPORT = "report.md"


class ComponentResult(Value):
    """The result for one component. `change`, `low` and `high` are relative to the baseline, or None if unknown.
    `interval` contains the same values as text."""

    name: str
    technique: str | None
    tried: int
    failed: int
    candidate: str | None
    description: str
    change: float | None
    low: float | None
    high: float | None
    interval: str
    seeds: int
    critical: bool
    evidence: str


class AblateResult(Value):
    """A finished run. `run` is its folder, `candidates` is the number of candidates tried, and `failures` counts
    failures by cause. `stored` is the number of ablations added to the graph. `unmeasured` says why no component was
    measured, or is empty. `model_calls` counts the calls in the whole run, and `dollars` is their cost, or None if a
    price is unknown."""

    run: str
    verdict: str
    baseline: float
    noise: float | None
    candidates: int
    failures: dict[str, int]
    components: tuple[ComponentResult, ...]
    stored: int
    notes: tuple[str, ...]
    unmeasured: str = ""
    model_calls: int = 0
    dollars: float | None = None

    def __str__(self) -> str:
        lines = [self.unmeasured] if self.unmeasured else []
        lines += [f"baseline: {self.verdict}", f"{self.candidates} candidates tried"]
        lines += [f"  {count} more failed: {cause}" for cause, count in self.failures.items()]
        for part in self.components:
            if part.change is not None:
                named = part.description.startswith(f"{part.name}: ")  # a value's description begins with its name
                what = part.description if named else f"{part.name}: {part.description}"
                lines.append(f"  {part.interval:<30} {what} ({part.evidence})")
        if self.model_calls:
            cost = "price unknown" if self.dollars is None else f"${self.dollars:.4f}"
            lines.append(f"{self.model_calls} model calls, {cost}")
        if self.stored:
            lines.append(f"{self.stored} technique measurements were added to the graph")
        return "\n".join([*lines, f"report: {self.run}/{REPORT}"])


def ablate(
    settings: Settings,
    task: Task,
    folder: Path | None = None,
    jobs: int = 1,
    notify: Callable[[str], None] = lambda _: None,
    engine: Engine | None = None,
) -> AblateResult:
    """Runs a task in `folder`, or resumes an interrupted run there. The default is a subfolder of the graph's folder,
    named after the task. If `engine` is not None, the code runs on the engine's machines, up to `engine.jobs` runs at a
    time.

    Raises `BaselineError`, `InputError`, `UnknownIdError` and `SandboxUnavailableError`. Raises `StoreBusyError` if
    another process is working on the same run, and `LanguageModelError` if a model that is needed for planning or
    repairs fails."""

    def installing(event: Installing) -> None:
        if not event.done_mb:
            notify(str(event))

    _require_paper(settings, task)
    if settings.environment.cpu and task.devices:
        raise InputError("--cpu and --device cannot be used together; omit one of them")
    if engine and task.allow_hosts:
        raise InputError(
            "--allow-host downloads only to this machine; on a cluster, download the data yourself and pass --data"
        )
    runner = runner_for(settings.sandbox)
    folder = folder or settings.kg / "runs" / run_name(task)
    with ExitStack() as opened:
        opened.enter_context(said_when_full(folder, _WHEN_FULL))
        private_folder(folder)
        (folder / "lock").touch()
        if not opened.enter_context(file_lock(folder / "lock", wait=False)):
            raise StoreBusyError(
                f"another process is working on the run in {folder}; wait until it is done, or pass a different --out"
            )
        model = opened.enter_context(_model(settings, notify)) if has_model(settings) else None
        if not engine and task.devices:
            jobs = min(jobs, len(gpus(task.devices)))  # each run gets one GPU
        starter = read_starter(task.repo, settings.kg / "repositories")
        if task.run and not task.data:
            require_script(task.training(task.seeds[0]), starter.files.keys())
        parsers = opened.enter_context(agent_parsers())
        write_whole(folder / "task.json", task.model_dump_json(indent=1).encode())
        start = Start(
            task=task,
            starter=starter,
            folder=folder,
            runner=runner,
            packages=UvEnvironments(settings.environment, runner, installing),
            jobs=engine.jobs if engine else jobs,
            elsewhere=opened.enter_context(spread_over(engine, settings, task.data.values(), gpu=bool(task.devices)))
            if engine
            else None,
            techniques=lambda tree: _techniques(settings, task, tree),
            settings=lambda tree: parsers.repository(read_folder(tree)).settings,
            parsers=parsers,
            notify=notify,
            model=model,
        )
        campaign = run_campaign(start)
        if model is not None:
            campaign = campaign.model_copy(update={"model": _use(settings, ledger_name(folder))})
        write_whole(folder / RESULTS, campaign.model_dump_json(indent=1).encode())
        write_report(folder, campaign)
        stored = _store(settings, campaign)
    return result_of(folder, campaign, stored)


def stated(settings: Settings, task: Task) -> tuple[str, ...]:
    """Returns the commands in the READMEs and scripts of the task's repository. `stated_commands` ranks them. Raises
    the same errors as `read_starter`."""
    files = read_starter(task.repo, settings.kg / "repositories").files
    texts = {
        path: file.content.decode("utf-8", "replace")
        for path, file in files.items()
        if path.endswith((".py", ".sh")) or path.rpartition("/")[2].casefold().startswith("readme")
    }
    with agent_parsers() as parsers:
        asked = {"texts": texts, "paths": sorted(files), "keys": [literal(task.metric)]}
        return SourceReader(parsers).ask(parsing.commands, **asked)


def has_model(settings: Settings) -> bool:
    """Returns whether a language model is configured. Unlike builds, ablations do not use a model by default."""
    return "model" in settings.llm.model_fields_set and settings.llm.model != "none"


def _model(settings: Settings, notify: Callable[[str], None]) -> LanguageModel:
    def tell(call: Call) -> None:
        if not call.cached:
            notify(str(call))

    private_folder(settings.kg)
    without = "to ablate only what can be found in the code, pass `--llm none`, --run and --metric"
    return LanguageModel(settings.llm, settings.kg, tell, without_key=without)


def _use(settings: Settings, run: str) -> ModelUse | None:
    try:
        total = costs(settings.kg, settings.llm, (run,)).total
    except UnknownIdError:
        return None
    dollars = None if total.unpriced else total.dollars
    return ModelUse(model=settings.llm.model, calls=total.calls, dollars=dollars)


def report(settings: Settings, run: str) -> AblateResult:
    """Rewrites the report of a finished run, and stores the run's measurements. Raises `InputError` if there is no
    finished run."""
    folder = run_folder(settings, run)
    campaign = read_campaign(folder)
    write_report(folder, campaign)
    return result_of(folder, campaign, _store(settings, campaign))


def apply(settings: Settings, run: str, candidate: str, to: Path | None) -> str:
    """Adds one candidate to the user's repository as the branch `xkg/ablate-<candidate>`. If `candidate` is `baseline`,
    adds the repairs that the baseline needed as the branch `xkg/baseline-repairs`. Raises `InputError` if there is no
    finished run or no such candidate."""
    workspace = _workspace_of(settings, run, candidate)
    name = "xkg/baseline-repairs" if candidate == "baseline" else f"xkg/ablate-{workspace.folder.name}"
    commit = branch(workspace, name, to)
    return f"branch {name} at {commit[:12]}; to see the change, run `git diff {commit[:12]}^ {commit[:12]}`"


def patch(settings: Settings, run: str, candidate: str) -> bytes:
    """Returns the change that `apply` would make, as a patch for `git apply`. Raises `InputError` if there is no
    finished run or no such candidate."""
    return results.patch(_workspace_of(settings, run, candidate))


def _workspace_of(settings: Settings, run: str, candidate: str) -> Workspace:
    folder = run_folder(settings, run)
    if candidate == "baseline":
        return Workspace.open(folder / "baseline")
    known = {outcome.id: outcome.candidate for outcome in read_campaign(folder).outcomes if outcome.commit}
    found = [id for id in known if id.startswith(candidate)]
    if len(found) != 1:
        listed = ", ".join(list(known)[:8])
        raise InputError(f"{folder} has no candidate {candidate!a}; the report lists all candidates ({listed} …)")
    base, chosen, place = Workspace.open(folder / "baseline"), known[found[0]], folder / "candidates" / found[0]
    rmtree(place, ignore_errors=True)
    return base.copied(place, changed(chosen.replacements, base.texts()), f"Ablate: {chosen.description}")


def run_name(task: Task) -> str:
    """Returns the name of a task's run. Equal tasks have the same name, so that a stopped run can be resumed."""
    digest = hashlib.sha256(task.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()
    name = slug(Path(task.repo.rstrip("/")).name or "run")[:40]
    return f"{name}-{digest[:8]}"


def run_folder(settings: Settings, run: str) -> Path:
    """Finds the folder of a run by name or path. Raises `InputError` if there is no finished run."""
    for folder in (Path(run), settings.kg / "runs" / run):
        if (folder / RESULTS).is_file():
            return folder
    runs = settings.kg / "runs"
    there = sorted(path.parent.name for path in runs.glob(f"*/{RESULTS}"))
    hint = f"; finished runs: {', '.join(there[:8])}" if there else ""
    raise InputError(f"there is no finished run {run!a}{hint}")


def read_campaign(folder: Path) -> Campaign:
    from pydantic import ValidationError

    try:
        return Campaign.model_validate_json((folder / RESULTS).read_bytes())
    except (OSError, ValidationError) as error:
        raise InputError(f"{folder / RESULTS} cannot be read; run the same command again to recreate it") from error


def write_report(folder: Path, campaign: Campaign) -> None:
    write_whole(folder / REPORT, markdown(campaign).encode("utf-8", "replace"))


def result_of(folder: Path, campaign: Campaign, stored: int) -> AblateResult:
    parts = []
    for importance in campaign.importances():
        best = importance.best
        effect = best.effect if best else None
        parts.append(
            ComponentResult(
                name=importance.component.name,
                technique=importance.component.technique,
                tried=importance.tried,
                failed=importance.failed,
                candidate=best.id if best else None,
                description=best.candidate.description if best else "",
                change=effect.change if effect else None,
                low=effect.low if effect else None,
                high=effect.high if effect else None,
                interval=f"{rows.change(effect)} {rows.interval(effect)}".strip(),
                seeds=effect.seeds if effect else 0,
                critical=importance.critical,
                evidence=rows.verdict(importance),
            )
        )
    values = campaign.baseline.values
    return AblateResult(
        run=str(folder),
        verdict=campaign.baseline.verdict,
        baseline=sum(values) / len(values),
        noise=campaign.baseline.noise,
        candidates=sum(outcome.tried for outcome in campaign.outcomes),
        failures=dict(rows.failures(campaign)),
        components=tuple(parts),
        stored=stored,
        notes=campaign.notes,
        unmeasured=campaign.unmeasured,
        model_calls=campaign.model.calls if campaign.model else 0,
        dollars=campaign.model.dollars if campaign.model else None,
    )


def _require_paper(settings: Settings, task: Task) -> None:
    """Raises an error if the paper is unknown, before the baseline runs, which may take hours."""
    if task.paper is not None:
        with open_service(settings) as service:
            paper_with_techniques(service, task.paper)


def _techniques(settings: Settings, task: Task, tree: Path) -> Sequence[Component]:
    if task.paper is None:
        return ()
    with open_service(settings) as service:
        return techniques_of(service, task.paper, tree)


def _store(settings: Settings, campaign: Campaign) -> int:
    found = measurements(campaign)
    if found:
        with open_store(settings) as store:
            store.add_ablations(found)
    return len(found)
