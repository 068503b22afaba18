import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.workspace.recorded_commands import RecordedCommands
from xkg.agents.ablation.campaign import Start, run_campaign
from xkg.agents.ablation.mutation import apply
from xkg.agents.ablation.report.markdown import markdown
from xkg.agents.ablation.running import bench
from xkg.agents.ablation.task import Task, read_task
from xkg.agents.workspace.files.apply import branch
from xkg.agents.workspace.files.starter import read_starter
from xkg.agents.workspace.files.workspace import Workspace
from xkg.build.parsing.parsers import Parsers
from xkg.commands.ablate import ablate
from xkg.config import SandboxSettings, Settings
from xkg.errors import BaselineError, InputError, StoreBusyError
from xkg.files import file_lock
from xkg.sandbox.isolation import gpus
from xkg.sandbox.select import runner_for

TRAIN = """\
import argparse
import json
import random


def smooth(x):
    return x * 0.5


def evaluate(x):
    return abs(x - 1.0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--inert", type=float, default=7.0)
    parser.add_argument("--bound", type=float, default=90.0)
    args = parser.parse_args()
    random.seed(args.seed)
    x = 8.0
    for _ in range(20):
        step = args.rate * (x - 1.0)
        noise = random.gauss(0, 0.0001)
        x = min(args.bound, x - step + noise)
        far = 0.5 * args.inert if x > 1e6 else 0.0
        x = far if far else x
    x = smooth(x)
    with open("out.json", "w") as file:
        json.dump({"test": {"error": evaluate(x)}}, file)
    print("done", args.inert)


main()
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    return folder


@pytest.fixture
def git_repository(repository: Path) -> Path:
    git(repository, "init", "-q")
    git(repository, "add", ".")
    git(repository, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
    return repository


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def task_of(repository: Path, **more: object) -> Task:
    flags: Mapping[str, object] = {
        "repo": str(repository),
        "run": "python train.py --seed {seed}",
        "metrics": ["out.json:test.error:min"],
        "budget": 8,
        "seconds": 60,
        **more,
    }
    return read_task(None, flags)


StartOf = Callable[[Task, Path], Start]


@pytest.fixture
def real_start_of(parsers: Parsers) -> StartOf:
    def start_of(task: Task, folder: Path) -> Start:
        folder.mkdir(exist_ok=True)
        return Start(
            task=task,
            starter=read_starter(task.repo, folder / "cache"),
            folder=folder,
            runner=runner_for(SandboxSettings()),
            packages=None,
            jobs=2,
            parsers=parsers,
        )

    return start_of


@pytest.fixture
def start_of(
    real_start_of: StartOf, monkeypatch: pytest.MonkeyPatch, recorded_commands: type[RecordedCommands]
) -> StartOf:
    monkeypatch.setattr(bench, "Commands", recorded_commands)
    return real_start_of


def test_what_matters_is_told_from_what_does_not(git_repository: Path, tmp_path: Path, real_start_of: StartOf) -> None:
    before = {path: path.read_bytes() for path in git_repository.rglob("*") if path.is_file()}
    campaign = run_campaign(real_start_of(task_of(git_repository), tmp_path / "run"))
    assert len(campaign.baseline.values) == 5
    assert not campaign.baseline.exact
    by_name = {i.component.name: i for i in campaign.importances()}
    for found in (by_name["rate"], by_name["smooth(x) in main"]):
        assert found.critical
        assert found.best is not None
        assert found.best.effect is not None
        assert found.best.effect.seeds == 5
    rate = by_name["rate"].best
    bound = [o for o in campaign.outcomes if o.candidate.component == by_name["bound"].component.id and o.no_effect]
    assert bound  # the bound is never reached, so each seed gives the same value
    assert {len(outcome.runs) for outcome in bound} == {5}
    # Runs never use this value, so its candidates do not count toward the budget.
    unused = [o for o in campaign.outcomes if o.candidate.component == by_name["inert"].component.id]
    assert {outcome.failure for outcome in unused} == {"not in force"}
    assert sum(len(outcome.runs) for outcome in unused) == 1  # the first run already showed that the value is unused
    assert by_name["inert"].best is None
    assert sum(outcome.tried for outcome in campaign.outcomes) == len(campaign.space.candidates) - len(unused) == 5
    assert not any("evaluate" in o.diff.partition("@@")[2].partition("\n")[2] and "-    return" in o.diff
                   for o in campaign.outcomes)  # fmt: skip
    assert {path: path.read_bytes() for path in git_repository.rglob("*") if path.is_file()} == before
    # A second call repeats no runs and returns the same results.
    seconds = [run.seconds for o in campaign.outcomes for run in o.runs]
    again = run_campaign(real_start_of(task_of(git_repository), tmp_path / "run"))
    assert [run.seconds for o in again.outcomes for run in o.runs] == seconds
    assert [o.id for o in again.outcomes] == [o.id for o in campaign.outcomes]
    # The results are reported, and one change becomes a branch.
    text = markdown(campaign)
    assert "## Importance by component" in text
    assert "| rate |" in text
    assert rate is not None
    base = Workspace.open(tmp_path / "run" / "baseline")
    workspace = base.copied(tmp_path / "rate", apply(rate.candidate.replacements, base.texts()), "Ablate: rate")
    commit = branch(workspace, f"xkg/ablate-{rate.id}")
    assert git(git_repository, "diff", "--stat", f"{commit}^", commit).count("train.py") == 1
    assert not git(git_repository, "status", "--porcelain")


@pytest.mark.product("a campaign; test_measured_run has each way to measure", every=True)
def test_an_evaluation_runs_without_the_changed_files(repository: Path, tmp_path: Path, real_start_of: StartOf) -> None:
    opened = '    with open("x.txt", "w") as file:\n        print(x, file=file)\n'
    own = opened + '    print("done", args.inert)\n\n\nmain()\n'
    (repository / "train.py").write_text(TRAIN.partition("    with open(")[0] + own)
    measure = "x = float(open('x.txt').read())\njson.dump({'test': {'error': abs(x - 1.0)}}, open('out.json', 'w'))\n"
    (repository / "measure.py").write_text(f"import json\n{measure}")
    task = task_of(repository, evaluate="python measure.py", budget=2, seeds=[0])
    campaign = run_campaign(real_start_of(task, tmp_path / "run"))
    runs = [run for outcome in campaign.outcomes for run in outcome.runs]
    assert [run.value for run in runs if run.value is not None]
    assert all(run.apart for run in (*campaign.baseline.runs, *runs))
    assert "- measured: without the changed files" in markdown(campaign)
    both = "sh -c 'python train.py && python measure.py'"
    shared = run_campaign(real_start_of(task_of(repository, run=both, budget=1, seeds=[0]), tmp_path / "shared"))
    assert "in a process that may run changed code" in markdown(shared)


def test_a_seed_of_the_code_is_varied_where_the_command_takes_none(
    repository: Path, tmp_path: Path, start_of: StartOf
) -> None:
    task = task_of(repository, run="python train.py", budget=1, only=["rate"])
    campaign = run_campaign(start_of(task, tmp_path / "run"))
    assert not campaign.baseline.exact
    assert len(set(campaign.baseline.values)) == 5
    assert any("0 → 1000, 2000, 3000, 4000" in note for note in campaign.notes)
    [outcome] = campaign.outcomes
    assert len({run.value for run in outcome.runs}) == 5
    assert not list((tmp_path / "run" / "candidates").glob("for-a-run-*"))


ALONE = "RATE = 0.5\nx = 8.0\nfor _ in range(9):\n    x -= RATE * x\nprint('error', x)\n"


@pytest.mark.product("each reason")
@pytest.mark.parametrize(
    ("start", "noise", "words"),
    [
        ("", "none: every run gives the same value, without a seed", "critical: p 0.0079 among all comparisons"),
        ("import os\nimport random\nrandom.seed(len(os.environ['HOME']))\n", "one seed: noise unknown", "one seed"),
    ],
)
def test_a_run_that_repeats_says_why(
    repository: Path, tmp_path: Path, start_of: StartOf, start: str, noise: str, words: str
) -> None:
    (repository / "train.py").write_text(start + ALONE)
    task = task_of(repository, run="python train.py", metrics=["error ([0-9.e-]+):min"], budget=1, only=["RATE"])
    campaign = run_campaign(start_of(task, tmp_path / "run"))
    text = markdown(campaign)
    assert f"noise: {noise}" in text
    assert words in text
    if start:
        assert "critical" not in text.replace("critical is", "")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("print('nothing')", "no metric"),
        ("input('continue? ')", "needs a terminal"),
        ("import urllib.request; urllib.request.urlopen('http://example.org')", "needs the network"),
        ("import torch_that_is_not_there", "missing package"),
        ("x = bytearray(9 << 30)", "memory"),
    ],
)
def test_no_ablation_without_a_baseline(
    repository: Path, tmp_path: Path, text: str, cause: str, start_of: StartOf
) -> None:
    (repository / "train.py").write_text(text + "\n")
    with pytest.raises(BaselineError, match=cause) as raised:
        run_campaign(start_of(task_of(repository, seeds=[0], memory_mb=300), tmp_path / "run"))
    assert "\n" not in str(raised.value)


def test_a_claimed_value_is_compared(repository: Path, tmp_path: Path, start_of: StartOf) -> None:
    far = run_campaign(start_of(task_of(repository, budget=1, only=["inert"], claimed=7.0), tmp_path / "other"))
    assert "off by" in far.baseline.verdict


def test_a_second_process_on_one_run_is_refused(repository: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "lock").touch()
    with file_lock(folder / "lock"), pytest.raises(StoreBusyError, match="another process is working on the run"):
        ablate(Settings(kg=tmp_path / "kg"), task_of(repository), folder)


@pytest.mark.product("each event × each kill", every=True)
def test_a_killed_run_goes_on(repository: Path, tmp_path: Path, start_of: StartOf) -> None:
    """Kills the run with SIGKILL after several nodes, and checks that it repeats none of them."""
    folder, task = tmp_path / "run", task_of(repository, budget=4)
    start = start_of(task, folder)

    def die(line: str) -> None:
        if line.startswith("round 1"):
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            run_campaign(replace(start, notify=die))
        finally:
            os._exit(0)
    _, ended = os.waitpid(child, 0)
    assert os.WIFSIGNALED(ended)
    done = {path: path.stat().st_mtime_ns for path in (folder / "nodes").glob("*.json")}
    assert done
    campaign = run_campaign(start_of(task, folder))
    assert sum(outcome.tried for outcome in campaign.outcomes) == 4
    assert {path: path.stat().st_mtime_ns for path in done} == done


def test_runs_take_gpus_in_turn(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real_start_of: StartOf
) -> None:
    """Uses fake GPU nodes, which are files that contain their names."""
    dev = tmp_path / "dev"
    dev.mkdir()
    for name in ("nvidia0", "nvidia1"):
        (dev / name).write_text(f"{name[-1]}.5")
        (dev / name).chmod(0o666)
    monkeypatch.setattr(gpus, "DEV", dev)
    monkeypatch.setattr(gpus, "DRIVER", tmp_path / "absent")
    here = "python -c \"import glob; (one,) = glob.glob('/dev/nvidia[0-9]'); print('gpu', open(one).read())\""
    task = task_of(repository, run=here, metrics=["gpu ([0-9.]+):min"], devices=["nvidia"], seeds=[0, 1, 2, 3])
    start = real_start_of(task, tmp_path / "run")
    if start.runner.name != "bubblewrap":
        pytest.skip("other sandboxes leave nodes at their own paths")
    campaign = run_campaign(start)
    assert campaign.unmeasured.startswith("no component was measured, only the baseline (")
    runs = [json.loads(path.read_text())["output"] for path in (tmp_path / "run" / "nodes").glob("run-*.json")]
    assert len(runs) == 4
    assert {run["values"][0] for run in runs} <= {0.5, 1.5}
    with pytest.raises(InputError, match="no /dev/nvidia3"):
        run_campaign(real_start_of(task_of(repository, devices=["nvidia:3"]), tmp_path / "other"))
