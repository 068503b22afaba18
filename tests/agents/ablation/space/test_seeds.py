import pytest

from xkg.agents.ablation.candidates import COMMAND
from xkg.agents.ablation.mutation import apply
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.ablation.space.seeds import Seeds, find_seeds
from xkg.build.code.settings import Setting


def seeds_of(text: str, command: str = "python train.py", settings: tuple[Setting, ...] = ()) -> Seeds:
    texts = {"train.py": text, "conf.yaml": "model:\n  seed: 3\n  key: 4\n"}
    return find_seeds([PythonSource("train.py", text)], settings, texts, command)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("random.seed(0)", "random.seed(1000)"),
        ("rng = np.random.default_rng(7)", "rng = np.random.default_rng(1007)"),
        ("split(x, random_state=42, size=3)", "split(x, random_state=1042, size=3)"),
        ("key = jax.random.PRNGKey(0)", "key = jax.random.PRNGKey(1000)"),
        ("parser.add_argument('--seed', type=int, default=1)", "parser.add_argument('--seed', type=int, default=1001)"),
        ("def main(seed=5):\n    torch.manual_seed(seed)", "def main(seed=1005):\n    torch.manual_seed(seed)"),
        ("START = 9\nnp.random.seed(START)", "START = 1009\nnp.random.seed(START)"),
        ("class A:\n    draw_seed: int = 2", "class A:\n    draw_seed: int = 1002"),
        ("c = {'s': 3, 'n': 4}\nr = Random(c['s'])", "c = {'s': 1003, 'n': 4}\nr = Random(c['s'])"),
        ("SEEDS = [1, 2]", "SEEDS = [1001, 1002]"),
        ("for i in range(3):\n    seed(i)", "for i in range(3):\n    seed((i) + 1000)"),
        ("for s in range(3):\n    fit(x, seed=s)", "for s in range(3):\n    fit(x, seed=(s) + 1000)"),
        ("def run(n, seed):\n    pass\nrun(10, 8)", "def run(n, seed):\n    pass\nrun(10, 1008)"),
    ],
)
def test_each_way_to_write_a_seed_is_varied(text: str, other: str) -> None:
    found = seeds_of(text)
    assert not found.fixed
    assert apply([seed.other(1) for seed in found.found], {"train.py": text}) == {"train.py": other}


@pytest.mark.parametrize("text", ["N_SEEDS = 5\nuse(seeds=3)", "np.random.seed(None)", "seed = True", "use(seed=x)"])
def test_what_is_no_seed_is_left_alone(text: str) -> None:
    assert seeds_of(text) == Seeds()


def test_seeds_of_configuration_and_command() -> None:
    settings = tuple(
        Setting(path="conf.yaml", line=line, name=name, value=value)
        for line, name, value in ((2, "model.seed", "3"), (3, "model.key", "4"))
    )
    found = seeds_of("Random(cfg['key'])", "python train.py --seed 6 --rate 2", settings)
    changed = {(seed.at.path, seed.at.old, seed.other(2).new) for seed in found.found}
    assert changed == {("conf.yaml", "3", "2003"), ("conf.yaml", "4", "2004"), (COMMAND, "6", "2006")}


def test_seeds_that_cannot_be_varied_are_named() -> None:
    found = seeds_of("import xgboost as xgb\nnp.random.seed(int(os.environ['S']))")
    assert not found.found
    assert ["xgboost" in each.why or "environ" in each.why for each in found.fixed] == [True, True]
    named = "seed = int(os.environ['S'])\nnp.random.seed(seed)"
    assert [str(each.place) for each in seeds_of(named).fixed] == ["train.py:2"]
    assert not seeds_of(named, "python train.py --seed {seed}").fixed


def test_a_test_that_the_command_starts_has_seeds() -> None:
    source = PythonSource("demo_test.py", "random.seed(3)")
    assert len(find_seeds([source], (), {}, "python demo_test.py").found) == 1
    assert not find_seeds([source], (), {}, "python train.py").found
