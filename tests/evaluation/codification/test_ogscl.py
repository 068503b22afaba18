"""The case in the manner of OGSCL: its starter runs without the method's properties, and the method has them all."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.codification.properties import CASES

CASE = CASES / "ogscl"
METHOD = """import numpy as np


def batches(types, size, rng):
    found = []
    for kind in np.unique(types):
        order = rng.permutation(np.flatnonzero(types == kind))
        found += [order[start : start + size] for start in range(0, len(order), size)]
    found = [each for each in found if len(each) > 1]
    for number in rng.permutation(len(found)):
        yield found[number]
"""


def properties(folder: Path, batches: str | None) -> tuple[int, str]:
    code = folder / "code"
    shutil.copytree(CASE / "starter", code)
    if batches is not None:
        (code / "batches.py").write_text(batches)
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(CASE / "property.py")]
    ran = subprocess.run(command, cwd=code, env=variables, capture_output=True, text=True, check=False, timeout=120)
    return ran.returncode, ran.stdout + ran.stderr


def test_the_method_has_all_properties(tmp_path: Path) -> None:
    code, output = properties(tmp_path, METHOD)
    assert (code, "failed" in output) == (0, False), output


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (None, "failed one type a batch"),
        (METHOD.replace("rng.permutation(len(found))", "range(len(found))"), "failed types alternate"),
        (METHOD.replace("rng.permutation(np.flatnonzero", "(np.flatnonzero"), "failed samples in random order"),
        (METHOD.replace("found[number]", "found[number][:-1]"), "failed every sample once an epoch"),
        (METHOD.replace("rng.permutation", "np.random.permutation"), "failed the seed decides"),
    ],
    ids=["starter", "blocks", "sorted", "lost", "unseeded"],
)
def test_what_is_wrong_is_named(tmp_path: Path, wrong: str | None, named: str) -> None:
    code, output = properties(tmp_path, wrong)
    assert code == 1
    assert named in output, output
