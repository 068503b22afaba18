"""The case of averaged weights: its starter runs without the method's properties, and the method has them all."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.codification.properties import CASES

CASE = CASES / "swa"
SCHEDULE = """def learning_rate(step, start, cycle, base):
    if step < start:
        return base
    share = (step - start) % cycle / (cycle - 1)
    return (1 - share) * base + share * base / 20


def evaluate("""
AVERAGE = """
            step = epoch * per_epoch + batch
            if step >= start and (step - start) % per_epoch == per_epoch - 1:
                ends.append([each.copy() for each in network.parameters()])
    if ends:
        for parameter, each in zip(network.parameters(), zip(*ends, strict=True), strict=True):
            parameter[...] = np.mean(each, 0)
        for norm in network.norms:
            norm.mean, norm.variance = norm.mean * 0, norm.variance * 0 + 1
        for batch in range(per_epoch):
            for norm in network.norms:
                norm.momentum = batch / (batch + 1)
            network.forward(features[batch * batch_size : (batch + 1) * batch_size], training=True)
"""


def method() -> str:
    text = (CASE / "starter" / "train.py").read_text()
    start, end = text.index("def learning_rate("), text.index("def evaluate(")
    text = text[:start] + SCHEDULE + text[end + len("def evaluate(") :]
    text = text.replace("epochs * per_epoch, base)", "start, per_epoch, base)")
    text = text.replace("    for epoch in", "    start, ends = -(-epochs * per_epoch // 2), []\n    for epoch in")
    return text.replace("                parameter += speed\n", f"                parameter += speed{AVERAGE}")


def properties(folder: Path, train: str | None) -> tuple[int, str]:
    code = folder / "code"
    shutil.copytree(CASE / "starter", code)
    if train is not None:
        (code / "train.py").write_text(train)
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(CASE / "property.py")]
    ran = subprocess.run(command, cwd=code, env=variables, capture_output=True, text=True, check=False, timeout=120)
    return ran.returncode, ran.stdout + ran.stderr


def test_the_method_has_all_properties(tmp_path: Path) -> None:
    code, output = properties(tmp_path, method())
    assert (code, output.count("ok "), "failed" in output) == (0, 10, False), output


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("", "", "failed rate within cycles"),
        ("(cycle - 1)", "cycle", "failed rate within cycles"),
        ("(step - start) % per_epoch == per_epoch - 1", "step % 2 == 1", "failed evaluated weights are the average"),
        ("norm.momentum = batch / (batch + 1)", "pass", "failed statistics of layer 1"),
        ("(step - start) % per_epoch ==", "step % per_epoch ==", "failed one finished cycle is the average"),
    ],
    ids=["starter", "cycle", "often", "exponential", "epochs"],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, named: str) -> None:
    code, output = properties(tmp_path, method().replace(old, new) if old else None)
    assert code == 1
    assert named in output, output
