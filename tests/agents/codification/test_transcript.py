import json
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

from tests.agents.codification.runs import MOMENTUM, World, edit, final, function, parts
from xkg.agents.codification.transcript import json_lines, steps, write_inspect_log
from xkg.errors import InputError

MODELS = {"code_model": "base"}


def worked(world: World) -> Path:
    world.endpoint.answers = [
        parts(),
        edit(function("train", MOMENTUM)),
        final(),
    ]
    assert world.run().result == "A"
    return world.run_folder


def test_steps_are_json_lines_also_before_the_run_is_over(world: World) -> None:
    folder = worked(world)
    lines = [json.loads(line) for line in json_lines(folder).splitlines()]
    assert [line["step"]["action"] for line in lines] == ["edit", "final_answer"]
    assert lines[0]["step"]["action_input"]["edits"][0]["text"] == MOMENTUM
    assert (folder / "transcript.jsonl").read_text() == json_lines(folder)
    (folder / "result.json").unlink()
    assert len(steps(folder)) == 2
    with pytest.raises(InputError, match="does not contain a started run"):
        steps(folder.parent)


def test_inspect_reads_the_log(world: World, tmp_path: Path) -> None:
    folder, name = worked(world), "run.eval"
    write_inspect_log(folder, tmp_path / name, MODELS)
    log = read_eval_log(str(tmp_path / name))
    (sample,) = log.samples
    assert (log.status, log.eval.model, sample.scores["class"].value) == ("success", "base", "A")
    calls = [call for message in sample.messages if message.role == "assistant" for call in message.tool_calls]
    assert [call.function for call in calls] == ["edit", "final_answer"]
    assert calls[0].arguments == {"text": "Keep a velocity", "edits": [function("train", MOMENTUM)]}
    shown = [message.text for message in sample.messages if message.role == "tool"]
    assert shown[-1].startswith("accepted: ")
    with pytest.raises(InputError, match="already exists"):
        write_inspect_log(folder, tmp_path / name, MODELS)
    with pytest.raises(InputError, match=r"\.eval or \.json"):
        write_inspect_log(folder, tmp_path / "run.txt", MODELS)
