"""Cases with properties: the starter lacks those of the method, the method has them all, and what is wrong is named."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.codification.properties import CASES

OGSCL = """import numpy as np


def batches(types, size, rng):
    found = []
    for kind in np.unique(types):
        order = rng.permutation(np.flatnonzero(types == kind))
        found += [order[start : start + size] for start in range(0, len(order), size)]
    found = [each for each in found if len(each) > 1]
    for number in rng.permutation(len(found)):
        yield found[number]
"""
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


def swa() -> str:
    text = (CASES / "swa" / "starter" / "train.py").read_text()
    start, end = text.index("def learning_rate("), text.index("def evaluate(")
    text = text[:start] + SCHEDULE + text[end + len("def evaluate(") :]
    text = text.replace("epochs * per_epoch, base)", "start, per_epoch, base)")
    text = text.replace("    for epoch in", "    start, ends = -(-epochs * per_epoch // 2), []\n    for epoch in")
    return text.replace("                parameter += speed\n", f"                parameter += speed{AVERAGE}")


FILES = {"ogscl": ("batches.py", OGSCL), "swa": ("train.py", swa())}


def properties(folder: Path, case: str, text: str | None) -> tuple[int, str]:
    """Exit code and output for the starter with a method's file, or as it is."""
    code = folder / "code"
    shutil.copytree(CASES / case / "starter", code)
    if text is not None:
        (code / FILES[case][0]).write_text(text)
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(CASES / case / "property.py")]
    ran = subprocess.run(command, cwd=code, env=variables, capture_output=True, text=True, check=False, timeout=120)
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.parametrize("case", FILES)
def test_the_method_has_all_properties(tmp_path: Path, case: str) -> None:
    code, output = properties(tmp_path, case, FILES[case][1])
    assert (code, "failed" in output) == (0, False), output
    assert output.count("ok ") == {"ogscl": 9, "swa": 10}[case]


@pytest.mark.parametrize(("case", "named"), [("ogscl", "one type a batch"), ("swa", "rate within cycles")])
def test_the_starter_lacks_them(tmp_path: Path, case: str, named: str) -> None:
    code, output = properties(tmp_path, case, None)
    assert (code, f"failed {named}" in output) == (1, True), output
