from tests.build.codebases import run
from tests.build.slicing.slices import sliced, undefined

AGENT = {
    "agent.py": '''import wandb
import numpy as np
from nets import Net, Other
from tools import clip, plot
from types_ import Config


class Agent:
    """Learns."""

    rate = 0.1
    colour = "red"

    def __init__(self, config: "Config", size):
        self.config = config
        # the network
        self.net = Net(size)
        self.other = Other(size)
        width = size * 2
        if config:
            self.scale = np.ones(width)
        else:
            self.unused = 1
        self._build()
        self._decorate()

    def _build(self):
        self.offset = 3
        self.picture = plot()

    def _decorate(self):
        self.title = "t"

    def loss(self, x):
        return self.value(x) * self.rate + clip(self.scale).sum()

    def value(self, x):
        return self.net.apply(x) + self.offset

    def log(self, x):
        wandb.log({"x": x, "colour": self.colour})

    def loop(self):
        for _ in range(3): self.log(self.other.apply(1))

    def update(self, batch):
        def inner_loss(params):
            return clip(params) * sum(batch) + self.rate
        return inner_loss
''',
    "nets.py": "class Net:\n    def __init__(self, n): self.n = n\n    def apply(self, x): return x + self.n\n"
    "    def unused(self): return 1\n\nclass Other(Net):\n    pass\n",
    "tools.py": "def clip(x): return x\n\ndef plot(): return 'plot'\n",
    "types_.py": "class Config:\n    size: int = 1\n    def path(self): return open('x')\n",
}


def test_a_method_comes_with_what_it_reaches_and_the_signatures_of_the_rest() -> None:
    result = sliced(AGENT, "agent.py::Agent.loss")
    assert not result.missing
    assert undefined(result.source) == []
    agent = run(result.source)["Agent"](True, 2)
    assert agent.loss(1) == (1 + 2 + 3) * 0.1 + 4
    assert vars(agent).keys() == {"config", "net", "other", "scale", "offset", "picture", "title"}
    for line in ("# left out: def log(self, x)", "# left out: def loop(self)", "# left out: colour = 'red'"):
        assert line in result.source
    assert "wandb" not in result.source
    assert "class Config:\n    size: int = 1\n" in result.source
    assert "open('x')" not in result.source
    assert result.packages == ("numpy",)
    names = [identity.rpartition("::")[2] for identity in result.derived_from]
    assert names[0] == "Agent.loss"
    assert {"Agent.value", "Net", "clip"} <= set(names)
    assert not {"Agent", "Agent.log", "Config"} & set(names)


def test_a_class_that_is_asked_for_is_whole() -> None:
    result = sliced(AGENT, "agent.py::Agent.loss", "agent.py::Agent")
    assert "left out: def log" not in result.source
    assert "wandb" in result.source
    assert "def unused" in sliced(AGENT, "agent.py::Agent.loss").source  # instances of Net are created and may be used


def test_an_object_that_is_passed_on_comes_with_what_others_read_from_it() -> None:
    files = {
        "a.py": "from b import norm\n\nclass A:\n    def __init__(self):\n        self.x = 1\n        self.y = 2\n\n"
        "    def f(self):\n        return norm(self)\n\n    def g(self, name):\n        return getattr(self, name)\n",
        "b.py": "def norm(a):\n    return a.x\n",
    }
    for method in ("f", "g"):
        assert vars(run(sliced(files, f"a.py::A.{method}").source)["A"]()) == {"x": 1, "y": 2}


def test_bases_come_with_the_methods_that_are_reached() -> None:
    files = {
        "a.py": "from b import Base\n\nclass A(Base):\n    def f(self):\n        return self.g() + self.h\n",
        "b.py": "import wandb\n\nclass Base:\n    def __init__(self):\n        self.h = 1\n        self.i = 2\n\n"
        "    def g(self):\n        return 2\n\n    def log(self):\n        wandb.log(1)\n",
    }
    result = sliced(files, "a.py::A.f")
    assert run(result.source)["A"]().f() == 3
    assert "wandb" not in result.source


def test_decorators_aliases_and_properties_of_a_class_body_stay() -> None:
    files = {
        "a.py": "class A:\n    def mark(f):\n        return f\n\n    def first(self):\n        return 1\n\n"
        "    second = first\n\n    @property\n    def size(self):\n        return self._size\n\n"
        "    @size.setter\n    def size(self, n):\n        self._size = n\n\n"
        "    @mark\n    def f(self):\n        self.size = 4\n        return self.second() + self.size\n\n"
        "    def rest(self): return 0\n"
    }
    result = sliced(files, "a.py::A.f")
    assert run(result.source)["A"]().f() == 5
    assert "left out: def rest" in result.source


def test_a_function_inside_a_method_comes_with_the_whole_method() -> None:
    result = sliced(AGENT, "agent.py::Agent.update.inner_loss")
    assert not result.missing
    assert run(result.source)["Agent"](True, 5).update([1, 2])(2) == 2 * 3 + 0.1
    assert "wandb" not in result.source
