import pytest

from xkg.agents.ablation.candidates import COMMAND, Space
from xkg.agents.ablation.mutation import apply
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.ablation.space.space import find_space
from xkg.agents.ablation.task import parse_metric

METRIC = parse_metric("loss: ([0-9.]+):min")


def space_of(text: str, command: str = "", **more: object) -> Space:
    return find_space([PythonSource("train.py", text)], [], {"train.py": text}, METRIC, command=command, **more)[0]  # type: ignore[arg-type]


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


def test_calls_that_did_not_run_override_nothing() -> None:
    text = "def fit(rate=0.1):\n    return rate\n\n\nif True:\n    fit()\nelse:\n    fit(0.4)\n"
    found = space_of(text, executed={"train.py": frozenset({1, 2, 5, 6})})
    assert [str(c.places[0]) for c in found.components] == ["train.py:1 (fit)"]


def test_a_subclass_that_gives_the_value_overrides_the_default() -> None:
    base = "class Base:\n    def __init__(self, scale=3.0):\n        self.scale = scale\n\n\n"
    sub = "class Sub(Base):\n    def __init__(self):\n        super().__init__(scale=0.5)\n\n\nSub()\n"
    assert {str(c.places[0]) for c in space_of(base + sub).components} == {"train.py:8 (Sub.__init__)"}


OPTIONS = (
    "p.add_argument('--lr', type=float, default=0.1)\np.add_argument('--fast', action='store_true')\n"
    "p.add_argument('--kind', choices=['a', 'b'], default='a')\nprint(args.lr, args.fast, args.kind)\n"
)


def test_options_that_the_command_gives_are_changed_in_the_command() -> None:
    command = "python train.py --lr=0.4 --fast --kind b"
    space = space_of(OPTIONS, command)
    changed = {apply(c.replacements, {COMMAND: command})[COMMAND] for c in space.candidates}
    assert changed >= {
        "python train.py --lr=0.2 --fast --kind b",
        "python train.py --lr=0.8 --fast --kind b",
        "python train.py --lr=0.4   --kind b",
        "python train.py --lr=0.4 --fast --kind a",
    }
    assert {str(c.places[0]) for c in space.components} == {"the command"}


def test_an_option_that_the_command_gives_a_seed_or_text_is_left_out() -> None:
    space = space_of(OPTIONS, "python train.py --lr {seed}")
    assert ("lr", "set by the command") in {(left.name, left.reason) for left in space.left_out}
