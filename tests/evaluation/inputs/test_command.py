"""Checks that a measurement that cannot run fails with a one-line message, as xkg's commands do."""

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evaluation.inputs.command import JsonFile, run_command
from tests.conftest import ROOT

MAINS = [file for file in (ROOT / "evaluation").rglob("*.py") if '__name__ == "__main__"' in file.read_text()]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (lambda: Path("/no/such").read_text(), "/no/such: No such file or directory"),
        (lambda: json.loads("no"), "not JSON"),
        (lambda: statistics.fmean([]), "too little to measure"),
    ],
)
def test_an_input_that_cannot_be_used_is_one_line(
    fault: Callable[[], Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["measure"])
    with pytest.raises(SystemExit) as ended:
        run_command(lambda: fault())
    assert told in str(ended.value.code)
    assert "\n" not in str(ended.value.code)


def test_every_measurement_is_run_so() -> None:
    others = [file for file in MAINS if "run_command(" not in file.read_text()]
    assert len(MAINS) > 25
    assert others == []


def test_arguments_and_options_come_from_the_types_of_a_function(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(gold: Sequence[Path], *, runs: int = 3, paper: Sequence[str] = (), json: JsonFile = None) -> int:
        print(*gold, runs, paper, json)
        return runs

    for words, told, status in (
        ("a b --paper p --paper q --json f", "a b 3 ['p', 'q'] f", 3),
        ("a --runs 0", "a 0 [] None", 0),
        ("--runs many a", "", 2),
    ):
        monkeypatch.setattr(sys, "argv", ["measure", *words.split()])
        with pytest.raises(SystemExit) as ended:
            run_command(main)
        assert (capsys.readouterr().out.strip(), ended.value.code) == (told, status)
