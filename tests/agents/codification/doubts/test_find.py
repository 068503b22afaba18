from tests.agents.codification.runs import METHOD, MOMENTUM, World, edit, final, function, parts, replace, step
from xkg.agents.codification.transcript import steps


def answered(about: str) -> dict[str, str]:
    return {"about": about, "answer": "The method asks for exactly this, and nothing else."}


def test_a_metric_that_stays_the_starters_is_unproven_until_the_end(world: World) -> None:
    """The agent has to answer, and the answer proves nothing."""
    nothing = MOMENTUM.replace("0.5 * velocity + ", "0.0 * velocity + ")
    doubts = ["the metric", "train.py:10", "train.py:12-13", "train.py:12"]
    world.endpoint.answers = [
        parts(),
        edit(function("train", nothing)),
        final(),
        final(answers=[answered(about) for about in doubts]),
    ]
    result = world.run()
    first, second = [each.observation for each in steps(world.run_folder)][1:]
    assert first.startswith("not accepted yet, in doubt: the metric: it is the starter's to the last digit"), first
    assert second.startswith("accepted"), second
    assert result.stopped is None
    assert str(result).startswith("B, unproven: error-free, but the metric: it is the starter's to the last digit")
    report = (world.run_folder / "report.md").read_text()
    assert report.startswith("# B, unproven")
    assert "The agent's answer: The method asks for exactly this" in report


def test_lines_that_change_no_value_are_in_doubt(world: World) -> None:
    noop = MOMENTUM.replace("        x = x", "        velocity = (velocity - 0 * x) / max(1, 0 * x)\n        x = x")
    noop = noop.replace("RATE * velocity", "RATE * (velocity + 0 * x)")
    world.endpoint.answers = [parts(), edit(function("train", noop)), final(9, 15), step("list_files")]
    result = world.run(steps=3)
    assert result.title.startswith("A, unproven: ")
    assert any(doubt.startswith("train.py:13: the metric is the same to the last digit") for doubt in result.doubts)
    assert "train.py:14: `velocity + 0 * x` was `velocity` all 10 times that it ran" in result.doubts
    assert not any(doubt.startswith("train.py:12:") for doubt in result.doubts), result.doubts


def test_a_change_of_what_the_metric_is_computed_from_is_in_doubt(world: World) -> None:
    scored = "def evaluate(x):\n    return score(x)\n\n\ndef score(x):\n    return x * x\n"
    (world.starter / "model.py").write_text(f"def gradient(x):\n    return 2 * x\n\n\n{scored}")
    halved = replace("return x * x", "return x * x / 2", "model.py")
    world.endpoint.answers = [parts(), edit(function("train", MOMENTUM), halved), final(), step("list_files")]
    result = world.run(steps=3)
    assert any(doubt.startswith("model.py::score: the printed metric is computed from this") for doubt in result.doubts)


def test_checks_that_were_written_before_the_code_are_part_of_what_is_done(world: World) -> None:
    code = "from train import train\nassert abs(train(1) - 9) < 1e-9, 'the first step follows the gradient'\n"
    world.endpoint.checks = [{"name": "first step", "says": "it follows the gradient", "code": code}]
    wrong = MOMENTUM.replace("x, velocity = 10.0, 0.0", "x, velocity = 10.0, 5.0")
    world.endpoint.answers = [
        parts(),
        edit(function("train", wrong)),
        final(),
        edit(function("train", MOMENTUM)),
        final(),
    ]
    result = world.run()
    told = [each.observation for each in steps(world.run_folder)][1]
    assert told.startswith("not accepted: first step: the check of this property fails")
    assert "the first step follows the gradient" in told
    assert (result.title, result.edits) == ("A: error-free and better than the starter", 2)
    asked = world.endpoint.requests[1]["messages"][1]["content"]
    assert METHOD in asked
    assert "first step: it follows the gradient" in world.endpoint.requests[2]["messages"][1]["content"]
    assert world.workspace.changed() == ["train.py"]
