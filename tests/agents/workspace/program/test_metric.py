import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.agents.workspace.program.metric import Metric
from xkg.errors import InputError, MetricError


def test_the_last_match_of_the_output_counts() -> None:
    metric = Metric.parse(r"test accuracy: ([0-9.]+):max")
    assert metric.read("test accuracy: 0.5\nnoise\ntest accuracy: 0.75\ndone", {}) == 0.75
    assert metric.is_better(0.8, 0.7)
    assert not Metric.parse("loss ([0-9.]+):min").is_better(0.8, 0.7)


def test_a_file_can_hold_it() -> None:
    files = {"r.json": b'{"test": [{"acc": 0.1}, {"acc": 0.9}]}', "log.csv": b"epoch,loss\n1,3\n2,2.5\n3,\n"}
    assert Metric.parse("json:r.json#test.-1.acc:max").read("", files) == 0.9
    assert Metric.parse("csv:log.csv#loss:min").read("", files) == 2.5
    assert Metric.parse("json:r.json#a:max").files == ("r.json",)
    assert Metric.parse("json:l.json#acc:max").read("", {"l.json": b'{"acc": 1}\n{"acc": 2}\n'}) == 2


@pytest.mark.parametrize(
    ("text", "output", "files"),
    [
        ("acc (.*):max", "nothing", {}),
        ("json:r.json#a:max", "", {}),
        ("json:r.json#a.b:max", "", {"r.json": b'{"a": 1}'}),
        ("json:r.json#a:max", "", {"r.json": b"not json"}),
        ("json:r.json#a:max", "", {"r.json": b"[" * 100_000}),
        ("csv:r.csv#a:max", "", {"r.csv": b"b\n1\n"}),
    ],
)
def test_a_missing_value_is_named(text: str, output: str, files: dict[str, bytes]) -> None:
    with pytest.raises(MetricError):
        Metric.parse(text).read(output, files)


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("Epoch 1 loss=0.5\nEpoch 2 loss=0.4\nsaved\n", "its last line with a number is 'Epoch 2 loss=0.4'"),
        ("saved\n", "no line contains a digit"),
    ],
)
def test_what_the_output_has_in_place_of_a_match_is_shown(output: str, shown: str) -> None:
    with pytest.raises(MetricError, match=f"no line in the output matches 'loss: .*'; {shown}"):
        Metric.parse("loss: ([0-9.]+):min").read(output, {})


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", "n/a", "True"])
def test_what_is_no_finite_number_is_named(value: str) -> None:
    with pytest.raises(MetricError):
        Metric.parse("acc (.*):max").read(f"acc {value}", {})
    with pytest.raises(MetricError):
        Metric.parse("json:r.json#a:max").read("", {"r.json": b'{"a": true}'})


@pytest.mark.parametrize(
    "text", ["acc", "acc:up", ":max", "(a)(b):max", "(:max", "acc: [0-9.]+:max", "json:x:more", r"a\n(\d+):max"]
)
def test_a_metric_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        Metric.parse(text)


@given(st.floats(allow_nan=False, allow_infinity=False), st.text(alphabet="ab\n", max_size=30))
def test_every_finite_number_is_read_exactly(number: float, noise: str) -> None:
    metric = Metric.parse(r"value=(\S+):min")
    assert metric.read(f"{noise}\nvalue={number!r}\n{noise}", {}) == number
    assert Metric.parse(str(metric)) == metric
