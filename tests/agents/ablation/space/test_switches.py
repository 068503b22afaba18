import pytest

from tests.agents.ablation.space.spaces import METRIC, candidates_of, changed_text, of, reasons_of, space_of, values_of
from xkg.agents.ablation.candidates import COMMAND
from xkg.agents.ablation.mutation import apply
from xkg.agents.ablation.space.space import find_space
from xkg.agents.ablation.task import parse_metric
from xkg.build.code.settings import Setting


def names(text: str) -> set[str]:
    return {component.name for component in space_of(text).components}


def test_attributes_names_and_class_values_that_are_given_once_are_components() -> None:
    text = (
        "class Agent:\n    decay = 0.9\n    def __init__(self):\n        self.rate, self.beta = 0.1, 0.5\n"
        "        self.bonus: float = 0.2\n\ndef main():\n    clip = 5.0\n    x = 1.0\n    x += clip\n"
    )
    assert names(text) == {"Agent(decay)", "Agent(rate)", "Agent(beta)", "Agent(bonus)", "clip"}


@pytest.mark.parametrize(
    "text",
    [
        "MOVES = {'up': 0, 'right': 1, 'down': 2}",
        "UP, DOWN, LEFT = 0, 1, 2",
        "ACTIONS = dict(hold=0, buy=1)",
        "HOLD = 1\nBUY = 2\nSELL = 3",
        "class Move(IntEnum):\n    UP = 4\n    DOWN = 8",
        "class Grid:\n    def __init__(self, size=4):\n        self.goal = 3\n"
        "    def reset(self): ...\n    def step(self, a): ...\nGrid(size=5)",
        "class Env(gym.Env):\n    slip = 0.1",
        "n_episodes = 100\nnum_boost_round = 50\nexperiments = 20\niterations = 9",
        "from sklearn import datasets\ndatasets.make_moons(noise=0.2)",
        "fit(x, random_state=42)",
    ],
)
def test_enumerations_the_task_and_lengths_are_no_components(text: str) -> None:
    assert not names(text)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("heads = 3", set()),
        ("class A:\n    heads = 3", set()),
        ("class A:\n    def __init__(self):\n        self.stride = 1", set()),
        ("class A:\n    def __init__(self):\n        self.size = 2\n    def f(self): return self.size", {"4"}),
        ("class A:\n    def __init__(self):\n        self.heads = 3\n    def f(self): return self.heads", {"2", "6"}),
        ("class A(Library):\n    def __init__(self):\n        self.unread = 3", set()),
        ("gamma = 0.9", {"0.0", "0.45", "0.95"}),
        ("scale = 1.5", {"0.75", "3"}),
    ],
)
def test_values_stay_legal(text: str, values: set[str]) -> None:
    assert {candidate.value for candidate in space_of(text).candidates} == values


OPTIONS = (
    "p.add_argument('--lr', type=float, default=0.1)\np.add_argument('--fast', action='store_true')\n"
    "p.add_argument('--kind', choices=['a', 'b'], default='a')\nprint(args.lr, args.fast, args.kind)\n"
)


def test_options_that_the_command_gives_are_changed_in_the_command() -> None:
    command = "python train.py --lr=0.4 --fast --kind b"
    space = space_of(OPTIONS, command=command)
    changed = {apply(c.replacements, {COMMAND: command})[COMMAND] for c in space.candidates}
    assert changed >= {
        "python train.py --lr=0.2 --fast --kind b",
        "python train.py --lr=0.8 --fast --kind b",
        "python train.py --lr=0.4   --kind b",
        "python train.py --lr=0.4 --fast --kind a",
    }
    assert {str(c.places[0]) for c in space.components} == {"the command"}


def test_an_option_that_the_command_gives_a_seed_or_text_is_left_out() -> None:
    assert reasons_of(space_of(OPTIONS, command="python train.py --lr {seed}"))["lr"] == "set by the command"


def test_options_fields_and_constants_are_switches() -> None:
    space = space_of()
    assert [one.value for one in of(space, "lr")] == ["0.005", "0.02"]
    assert [(one.kind, one.value) for one in of(space, "Config(use_norm)")][:1] == [("toggle", "False")]
    assert [(one.kind, one.value) for one in of(space, "kernel")][-1:] == [("replace", '"linear"')]
    assert [one.value for one in of(space, "MOMENTUM")] == ["0.45", "0.95"]
    [no_decay] = of(space, "no-decay")
    assert 'action="store_true", default=True' in changed_text(no_decay)


def test_entries_of_configuration_files() -> None:
    text = "model:\n  dropout: 0.1\n  norm: true\n  depth: 4\ntrain:\n  epochs: 9\n"
    settings = [
        Setting(path="c.yaml", line=n, name=name, value=value)
        for n, name, value in (
            (2, "model.dropout", "0.1"), (3, "model.norm", "true"), (4, "model.depth", "4"), (6, "train.epochs", "9")
        )
    ]  # fmt: skip
    space, *_ = find_space([], settings, {"c.yaml": text}, parse_metric(METRIC))
    assert {c.name for c in space.components} == {"model.dropout", "model.norm", "model.depth"}
    [norm] = of(space, "model.norm")
    assert apply(norm.replacements, {"c.yaml": text})["c.yaml"] == text.replace("true", "false")


ENTRIES = """\
import random


def settings():
    chosen = {"show": "yes"}
    chosen["mutation operator"] = "swap"
    chosen["step size"] = 0.2
    chosen["lowest"] = 9.0
    return chosen


def search(chosen):
    if chosen["mutation operator"] == "swap":
        def mutate(x):
            return -x
    elif chosen["mutation operator"] == "shift":
        def mutate(x):
            return x + chosen["step size"]

    x = random.random()
    for _ in range(9):
        x = mutate(x)
        chosen["lowest"] = min(chosen["lowest"], x)
    print("error:", chosen["lowest"])


search(settings())
"""


def test_entries_that_a_statement_assigns_are_settings_and_other_texts_select_other_functions() -> None:
    steps = {f"step size: 0.2 → {value}" for value in ("0.1", "0.4")}
    assert candidates_of(ENTRIES) == {"mutation operator: \"swap\" → 'shift'", *steps}


CLICK = """\
import click


@click.command()
@click.option("--kernel", default="rbf", type=click.Choice(["rbf", "linear"]))
@click.option("--shrink", is_flag=True, default=True, help="x")
@click.option("--rate", default=0.5, type=float)
@click.option("--epochs", default=100)
def main(kernel, shrink, rate, epochs):
    print(kernel, shrink, rate, epochs)
"""


def test_options_of_click_are_switches_by_their_names() -> None:
    space = space_of(CLICK)
    assert values_of(space) == {"kernel": ['"linear"'], "shrink": ["False"], "rate": ["0.0", "0.25", "0.75"]}
    [given, _, _] = of(space_of(CLICK, command="python train.py --rate 0.25"), "rate")
    assert given.replacements[0].path == COMMAND
    # click converts defaults too, so the probe must be inserted after the conversion.
    assert all("callback=lambda *_: " in one.probe[0].new for one in of(space, "rate"))


@pytest.mark.parametrize(
    ("text", "command", "values"),
    [
        pytest.param(
            "settings = {'decay': 0.5, 'learning rate': 0.1, 'layers': [3, 1], 'seed': 4}\n",
            "",
            {"decay": ["0.0", "0.25", "0.75"], "learning rate": ["0.05", "0.2"]},
            id="entries of a dictionary",
        ),
        pytest.param(
            "print(1)\n",
            "C=10 python train.py rate=0.5 --depth 3 --seed 4 --epochs 9 -k x",
            {"C": ["5", "20"], "rate": ["0.0", "0.25", "0.75"], "depth": ["2", "6"]},
            id="numbers of the command that no code declares",
        ),
    ],
)
def test_values_that_are_given_by_name_are_switches(text: str, command: str, values: dict[str, list[str]]) -> None:
    assert values_of(space_of(text, command=command)) == values
