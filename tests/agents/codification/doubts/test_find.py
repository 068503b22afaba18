from tests.agents.codification.runs import METHOD, MOMENTUM, World, edit, final, function, parts, replace, step
from xkg.agents.codification.transcript import steps


def answered(about: str) -> dict[str, str]:
    return {"about": about, "answer": "The method asks for exactly this, and nothing else."}


def test_a_metric_that_stays_the_starters_is_unproven_until_the_end(world: World) -> None:
    nothing = MOMENTUM.replace("0.5 * velocity + ", "0.0 * velocity + ")
    doubts = ["the metric", "train.py:10", "train.py:12-13", "train.py:12"]
    world.endpoint.answers = [
        parts(),
        edit(function("train", nothing)),
        final(),
        final(answers=[answered("the metric")]),
        final(answers=[answered(about) for about in doubts[1:]]),
    ]
    result = world.run()
    first, second, third = [each.observation for each in steps(world.run_folder)][1:]
    assert first.startswith("not accepted yet, in doubt: the metric: it equals the starter's to the last digit"), first
    assert second.startswith("not accepted yet, in doubt: train.py"), second
    assert third.startswith("accepted"), third
    assert result.stopped is None
    assert str(result).startswith("B, unproven: error-free, but the metric: it equals the starter's to the last digit")
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
    assert any(doubt.startswith("model.py::score: this code computes the printed metric") for doubt in result.doubts)


def test_a_metric_that_a_changed_line_prints_is_in_doubt(world: World) -> None:
    printing = MOMENTUM.replace("return x", "print('final', f'loss: {x * x / 9:.6f}')\n    raise SystemExit")
    world.endpoint.answers = [parts(), edit(function("train", printing)), final(), step("list_files")]
    result = world.run(steps=3)
    assert "train.py:14: this changed line, or code that it calls, printed the metric" in result.doubts


def test_a_new_fixed_seed_is_in_doubt(world: World) -> None:
    seeded = MOMENTUM.replace("    for _", "    import random\n\n    x += random.Random(7).random()\n    for _")
    world.endpoint.answers = [parts(), edit(function("train", seeded)), final(9, 16), step("list_files")]
    assert "train.py:13: 7 is a new fixed seed" in world.run(steps=3).doubts


def test_code_that_never_ends_without_a_statement_is_not_waited_for(world: World) -> None:
    counted = MOMENTUM.replace("for _ in range(steps):", "done = 0\n    while done < steps:\n        done += 1")
    world.endpoint.answers = [parts(), edit(function("train", counted)), final(9, 16)]
    result = world.run()
    assert result.result == "A"
    assert not any(doubt.startswith("train.py:13") for doubt in result.doubts), result.doubts


def test_a_check_that_is_wrong_can_be_disputed(world: World) -> None:
    world.endpoint.checks = [{"name": "first step", "says": "it is known", "code": "assert False, 'not so'\n"}]
    world.endpoint.answers = [
        parts(),
        edit(function("train", MOMENTUM)),
        final(),
        final(answers=[answered("first step")]),
    ]
    assert world.run().title.endswith("better than the starter, but first step: the check of this property fails")


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
    assert told.startswith("not accepted yet, in doubt: first step: the check of this property fails\nchange the code")
    assert "the first step follows the gradient" in told
    assert (result.title, result.edits) == ("A: error-free and better than the starter", 2)
    asked = world.endpoint.requests[1]["messages"][1]["content"]
    assert METHOD in asked
    assert "first step: it follows the gradient" in world.endpoint.requests[2]["messages"][1]["content"]
    assert world.workspace.changed() == ["train.py"]
