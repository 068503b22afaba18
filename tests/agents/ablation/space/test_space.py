from tests.agents.ablation.space.spaces import (
    ERROR,
    METRIC,
    TRAIN,
    candidates_of,
    changed_text,
    of,
    reasons_of,
    space_in,
    space_of,
    values_of,
)
from xkg.agents.ablation.candidates import Component, Place
from xkg.agents.ablation.mutation import apply, refusal
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.ablation.space.space import find_space
from xkg.agents.ablation.task import parse_metric
from xkg.build.code.settings import Setting


def test_every_candidate_applies_parses_and_stays_in_its_place() -> None:
    space, protected, _ = space_in(TRAIN, METRIC)
    assert len(space.candidates) > 12
    for one in space.candidates:
        before = {"train.py": TRAIN}
        assert refusal(one, before, apply(one.replacements, before), protected) is None
    assert len({one.id for one in space.candidates}) == len(space.candidates)


def test_a_technique_takes_what_lies_in_its_lines_and_one_without_a_place_is_named() -> None:
    at = TRAIN[: TRAIN.index("    kernel = rbf")].count("\n") + 1
    place = Place(path="train.py", start_line=at, end_line=at)
    techniques = [
        Component(id="p#kernel", name="Kernel", technique="p#kernel", places=(place,), weight=0.9),
        Component(id="p#lost", name="Lost", technique="p#lost", places=()),
    ]
    space = space_of(techniques=techniques)
    assert space.components[0].technique == "p#kernel"
    assert all(one.places[0].start_line == at for one in space.of("p#kernel"))
    assert reasons_of(space)["Lost"] == "no place in the code"


def test_equal_parts_are_left_out_together() -> None:
    text = "def build(m):\n    m.add(Drop(0.5))\n    m.add(Dense(3))\n    m.add(Drop(0.5))\n    return m\n"
    [both] = of(space_of(text), "Drop(0.5) in build")
    assert changed_text(both, text) == "def build(m):\n    pass\n    m.add(Dense(3))\n    pass\n    return m\n"


def test_configuration_that_the_baseline_does_not_read_is_left_out() -> None:
    texts = {"used.json": '{\n"rate": 0.5\n}\n', "old.json": '{\n"decay": 0.5\n}\n'}
    settings = [Setting(name="rate", value="0.5", path="used.json", line=2)]
    settings.append(Setting(name="decay", value="0.5", path="old.json", line=2))
    space, _, _ = find_space([], settings, texts, parse_metric("x ([0-9.]+):max"), opened={"used.json"})
    assert [component.name for component in space.components] == ["rate"]
    assert [(left.name, left.reason) for left in space.left_out] == [("old.json", "the baseline does not read it")]


def test_values_that_reach_the_metric_through_a_file_count() -> None:
    """Two programs in one command share values through files, which the slice does not follow."""
    train = PythonSource(
        "train.py", "RATE = 0.5\nx = 8.0\nfor _ in range(9):\n    x -= RATE * x\nopen('x', 'w').write(str(x))\n"
    )
    measure = PythonSource("measure.py", "x = float(open('x').read())\nprint('error', abs(x - 1.0))\n")
    metric = parse_metric("error ([0-9.e-]+):min")
    space, _, _ = find_space([train, measure], [], {}, metric, command="sh -c 'python train.py && python measure.py'")
    assert "RATE" in [component.name for component in space.components]


SCALED = """
import joblib
from library import Scaler, load, network, split

data = load()
train_x, test_x, train_y, test_y = split(data.x, data.y)
scaler = Scaler()
train_x = scaler.fit_transform(train_x)
test_x = scaler.transform(test_x)
joblib.dump(scaler, "scaler.bin")
model = network()
history = model.fit(train_x, train_y)
error = (model.predict(test_x) - test_y).mean()
print("error:", error)
"""


def test_both_halves_of_a_scaling_are_left_out_together() -> None:
    assert candidates_of(SCALED) == {"the call scaler.fit_transform(train_x) → off, in all 2 places"}


STAGE = """\
import random

import numpy as np


def mutate(genes, rate=0.2):
    for i in range(len(genes)):
        if random.random() < rate:
            genes[i] = random.random()
    return genes


def run():
    genes = [0.5] * 9
    for _ in range(20):
        genes = sorted(genes)
        genes = mutate(genes)
    return sum(genes)


print("error:", run())
"""


def test_the_settings_of_a_stage_are_further_candidates_of_the_stage() -> None:
    assert [*values_of(space_of(STAGE, ERROR)).values()] == [["identity", "0.1", "0.4"]]
