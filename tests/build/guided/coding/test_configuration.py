"""The values that located code reads, wherever a repository keeps them."""

import pytest

from tests.build.guided.coding.test_write import DECAY, TECHNIQUE
from tests.build.guided.fake_model import FakeModel
from tests.build.slicing.test_slice import codebase_of
from xkg.build.code.settings import settings_in
from xkg.build.guided.coding.configuration import MOST_CHARACTERS, configuration
from xkg.build.guided.coding.write import modularize_with_model
from xkg.build.guided.draft import Draft

CODE = {
    "agent.py": """\
import torch

class Agent:
    def __init__(self, cfg, net, clip=None):
        self.limit = cfg.optim["max_grad_norm"]
        self.tau = cfg.get("tau", 0.005)
        self.net = net
        self.seed = cfg.seed

    def update(self, loss):
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.limit)

def anneal(step, args):
    return args.start * getattr(args, "decay-rate") ** step

def unread(x):
    return x + 1
""",
    "run.py": """\
import argparse
from dataclasses import dataclass, field
from absl import flags
from agent import Agent
parser = argparse.ArgumentParser()
parser.add_argument("--start", type=float, default=0.25, help="rate")
parser.add_argument("--quick", action="store_true")
flags.DEFINE_float("beta_end", 0.02, "last")

@dataclass
class Options:
    decay_rate: float = 0.97
    sizes: list = field(default_factory=lambda: [1, 2])

def main(cfg, args):
    return Agent(cfg, None, clip=cfg.optim.threshold)

def last(FLAGS):
    return FLAGS.beta_end
""",
}
YAML = {
    "configs/default.yaml": "optim:\n  max_grad_norm: 1.\n  threshold: 7\ntau: 0.01\nseed: 3\no:\n  max_grad_norm: 9\n",
    "configs/large.yaml": "optim:\n  max_grad_norm: 5.\n",
}


def read(*names: str, files: dict[str, str] = YAML) -> str:
    codebase = codebase_of(CODE).model_copy(update={"settings": settings_in(files)})
    return configuration(codebase, [f"local:made@0123456789:{name}" for name in names])


def test_attributes_keys_and_what_the_class_sets_them_from() -> None:
    assert read("agent.py::Agent.update") == (
        "configs/default.yaml\n  2: optim.max_grad_norm = 1.  (elsewhere 5. in configs/large.yaml)\n"
        "  3: optim.threshold = 7  (passed as clip)"
    )


def test_a_class_has_all_that_it_reads() -> None:
    assert read("agent.py::Agent").split("\n") == [
        "configs/default.yaml",
        "  2: optim.max_grad_norm = 1.  (elsewhere 5. in configs/large.yaml)",
        "  3: optim.threshold = 7  (passed as clip)",
        "  4: tau = 0.01",
        "  5: seed = 3",
    ]


def test_defaults_of_command_lines_flags_and_dataclasses() -> None:
    assert read("agent.py::anneal") == "run.py\n  6: start = 0.25\n  12: Options.decay_rate = 0.97"
    assert read("run.py::last") == "run.py\n  8: beta_end = 0.02"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.gin": "Agent.clip = 2.0\nOther.clip = 1"}, "a.gin\n  1: Agent.clip = 2.0"),
        (
            {"agent.yaml": "agent:\n  _target_: agent.Agent\n  clip: 0.5\nnet:\n  clip: 3\n"},
            "agent.yaml\n  3: agent.clip = 0.5",
        ),
    ],
)
def test_what_gin_and_hydra_bind(files: dict[str, str], expected: str) -> None:
    assert read("agent.py::Agent", files=files) == expected


def test_code_that_reads_none_has_none() -> None:
    assert read("agent.py::unread") == ""


def test_of_scripts_with_the_same_names_the_one_that_reads_counts() -> None:
    script = (
        "import argparse\nfrom lib import {0}\np = argparse.ArgumentParser()\np.add_argument('--limit', default={1})\n"
    )
    files = {
        "lib.py": "def cifar(args):\n    return args.limit\n\ndef fashion(args):\n    return args.limit\n",
        "run_cifar.py": script.format("cifar", 50) + "def main(args):\n    return cifar(args) + args.limit\n",
        "run_fashion.py": script.format("fashion", 20) + "def main(args):\n    return fashion(args) + args.limit\n",
    }
    for name, limit in (("fashion", 20), ("cifar", 50)):
        found = configuration(codebase_of(files), [f"local:made@0123456789:run_{name}.py::main"])
        assert found == f"run_{name}.py\n  4: limit = {limit}"


def test_it_is_short() -> None:
    reads = "\n".join(f"    total += cfg.value_{i}" for i in range(300))
    codebase = codebase_of({"long.py": f"def long(cfg):\n    total = 0\n{reads}\n    return total\n"})
    values = {"a.yaml": "\n".join(f"value_{i}: {'9' * 90}" for i in range(300))}
    found = configuration(
        codebase.model_copy(update={"settings": settings_in(values)}), ["local:made@0123456789:long.py::long"]
    )
    assert 1000 < len(found) <= MOST_CHARACTERS


def test_the_prompt_that_writes_has_it_and_the_draft_keeps_it_for_the_check() -> None:
    files = {
        "rates.py": "import math\n\nFLOOR = 1e-8\n\ndef decay(step, cfg):\n    return max(cfg.floor, math.exp(-step))\n"
    }
    codebase = codebase_of(files).model_copy(update={"settings": settings_in({"c.yaml": "floor: 0.5"})})
    model = FakeModel({"modularize": [DECAY]})
    draft = modularize_with_model(TECHNIQUE, ["local:made@0123456789:rates.py::decay"], [], codebase, model, "On rates")
    assert isinstance(draft, Draft)
    assert model.requests[0][2]["configuration"] == draft.configuration == "c.yaml\n  1: floor = 0.5"
