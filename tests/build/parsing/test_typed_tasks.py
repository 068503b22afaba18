from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.build.parsing import typed_answers
from xkg.build.parsing.parsers import Parsers
from xkg.sandbox.isolation.confined_worker import Bounds, WorkerDiedError

BOUNDS = Bounds(step_seconds=5, seconds=30)


@pytest.fixture(scope="module")
def started() -> Iterator[Parsers]:
    with Parsers(tasks=("tests.build.parsing.typed_answers",)) as made:
        yield made


def test_a_function_runs_with_its_arguments(started: Parsers) -> None:
    assert started.ask(typed_answers.lengths, BOUNDS, texts={"a": "four", "b": ""}) == {"a": 4, "b": 0}
    assert started.ask(typed_answers.echoed, BOUNDS, text="ü\ud800") == "ü\ufffd"


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (typed_answers.not_a_task, {}),
        (typed_answers.lying, {}),
        (typed_answers.lengths, {"texts": ["a"]}),
        (typed_answers.lengths, {"texts": {}, "more": 1}),
        (eval, {"source": "1"}),
    ],
)
def test_nothing_else_is_answered(started: Parsers, function: Callable[..., Any], given: dict[str, object]) -> None:
    with pytest.raises(WorkerDiedError, match="crashed"):
        started.ask(function, BOUNDS, **given)
