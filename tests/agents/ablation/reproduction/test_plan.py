import pytest

from xkg.agents.ablation.reproduction.plan import Instruction, Plan, objection, planned_task
from xkg.agents.ablation.task import Task

TEXTS = {
    "train.py": 'import argparse\nfrom lib import model\nparser.add_argument("--epochs")\nparser.add_argument("-b")\n'
    'print("test loss:", loss)\n',
    "lib/model.py": "rate = 0.1\n",
    "tools/evaluate.py": 'parser.add_argument("--check-point")\n',
    "tools/fetch.sh": "echo\n",
    "conf.yaml": "optimizer:\n  rate: 0.1\n",
    "input/small.csv": "a,b\n",
}


def step(command: str, part: str = "training", **more: object) -> Instruction:
    fields = {"part": part, "folder": "", "command": command, "reads": (), "writes": (), "why": "", **more}
    return Instruction.model_validate(fields)


def plan(*steps: Instruction, metrics: tuple[str, ...] = ("test loss: ([0-9.]+):min",)) -> Plan:
    return Plan(summary="s", instructions=steps, metrics=metrics, gaps=())


def objected(made: Plan, **task: object) -> str | None:
    return objection(made, TEXTS, TEXTS, ["mounted"], Task.model_validate({"repo": ".", **task}))


@pytest.mark.parametrize(
    "command",
    [
        "python train.py --epochs 3 -b 4",
        "python -u train.py --epochs=3",
        "python3 -m lib.model",
        "python -m zipfile -e input/small.csv .",
        "sh tools/fetch.sh",
        "python train.py optimizer.rate=0.2",
        "python train.py input/small.csv mounted/images/a.csv {seed}",
        "python train.py --epochs -1",
    ],
)
def test_what_is_there_is_accepted(command: str) -> None:
    assert objected(plan(step(command))) is None


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("python run.py", "does not start a file in the repository, but run.py"),
        ("python evaluate.py", "there is tools/evaluate.py"),
        ("python -m lib.other", "but -m lib.other"),
        ("python train.py --iterations 3", "accepts the option --iterations"),
        ("python train.py --epoch 3", "accepts the option --epoch"),
        ("python train.py momentum=0.2", "has momentum"),
        ("python train.py input/large.csv", "input/large.csv does not exist"),
        ("python train.py ../other/data.csv", "outside the repository"),
        ("python -c 'print(1)'", "does not start a file in the repository, but -c"),
        ("python train.py && python tools/evaluate.py", "be a single program"),
        ("python train.py > log.txt", "be a single program"),
        ("make train", "does not start a file in the repository, but make"),
        ("python 'train.py", "cannot be split"),
    ],
)
def test_what_is_not_there_is_named(command: str, told: str) -> None:
    assert told in str(objected(plan(step(command))))


def test_outputs_of_earlier_instructions_are_there_for_later_ones() -> None:
    evaluate = step("python tools/evaluate.py --check-point out/model.npz", "metrics")
    train = step("python train.py", writes=("out/model.npz",))
    assert objected(plan(train, evaluate)) is None
    assert "out/model.npz does not exist" in str(objected(plan(evaluate, train)))


def test_folders_in_which_commands_run() -> None:
    inside = step("python evaluate.py", folder="tools")
    assert objected(plan(inside)) is None
    assert "no folder 'other'" in str(objected(plan(step("python train.py", folder="other"))))
    assert planned_task(Task(repo="."), plan(inside)).command(0) == "(cd tools && python evaluate.py)"


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        ("out.json:error:min", "no instruction writes"),
        ("validation score ([0-9.]+):max", "no code in the repository prints"),
        ("loss ([0-9.]+)", "whether higher or lower is better"),
    ],
)
def test_metrics_that_nothing_gives(metric: str, told: str) -> None:
    assert told in str(objected(plan(step("python train.py"), metrics=(metric,))))


def test_a_plan_needs_a_training_and_a_metric() -> None:
    assert "no instruction is the training" in str(objected(plan(step("python train.py", "data"))))
    assert "no metric is specified" in str(objected(plan(step("python train.py"), metrics=())))
    assert objected(plan(metrics=()), run="python train.py", metrics=("x ([0-9]+):min",)) is None


def test_what_the_user_gave_stays() -> None:
    made = plan(step("python tools/evaluate.py", "data"), step("python train.py"), step("python lib/model.py"))
    task = planned_task(Task(repo="."), made)
    assert (task.setup, task.run) == ("python tools/evaluate.py && python train.py", "python lib/model.py")
    given = Task(repo=".", run="python mine.py", metrics=("a ([0-9]+):max",))
    assert planned_task(given, made) == given


def test_reads_and_writes_are_held_too() -> None:
    assert "reads gone.csv" in str(objected(plan(step("python train.py", reads=("gone.csv",)))))
    assert "read-only data" in str(objected(plan(step("python train.py", writes=("mounted/out.csv",)))))
