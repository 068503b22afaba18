from tests.agents.ablation.space.spaces import ERROR, space_of
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.ablation.space.space import find_space
from xkg.agents.ablation.task import parse_metric


def test_a_default_that_every_call_sets_is_no_candidate_and_else_one_component_with_the_calls() -> None:
    text = "class Net:\n    def __init__(self, rate=0.5):\n        self.rate = rate\n\n\nnet = Net(rate=0.25)\n"
    [net] = space_of(text).components
    assert (net.name, [place.start_line for place in net.places]) == ("Net(rate)", [6])  # the default is not used
    [net] = space_of(text + "made = [Net(), Net]\n").components
    assert [place.start_line for place in net.places] == [2, 6]


def test_a_default_is_no_candidate_if_a_call_by_another_name_sets_it() -> None:
    net = "class Net:\n    def __init__(self, rate=0.5):\n        self.rate = rate\n"
    main = "from net import Net as Made\n\nnet = Made(rate=0.25)\nprint('error:', net.rate * 2.0)\n"
    files = {"net.py": net, "main.py": main}
    sources = [PythonSource(path, text) for path, text in files.items()]
    space, _, _ = find_space(sources, [], files, parse_metric(ERROR), command="python main.py")
    assert all(candidate.places[0].path == "main.py" for candidate in space.candidates)


def test_calls_that_did_not_run_override_nothing() -> None:
    text = "def fit(rate=0.1):\n    return rate\n\n\nif True:\n    fit()\nelse:\n    fit(0.4)\n"
    found = space_of(text, executed={"train.py": frozenset({1, 2, 5, 6})})
    assert [str(c.places[0]) for c in found.components] == ["train.py:1 (fit)"]


def test_a_subclass_that_gives_the_value_overrides_the_default() -> None:
    base = "class Base:\n    def __init__(self, scale=3.0):\n        self.scale = scale\n\n\n"
    sub = "class Sub(Base):\n    def __init__(self):\n        super().__init__(scale=0.5)\n\n\nSub()\n"
    assert {str(c.places[0]) for c in space_of(base + sub).components} == {"train.py:8 (Sub.__init__)"}
