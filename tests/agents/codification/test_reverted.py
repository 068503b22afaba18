import json
import subprocess
import sys
from pathlib import Path

from xkg.agents.codification.reverted import RECORD, reverted, watched
from xkg.agents.workspace.files.patches import changed_lines
from xkg.sandbox.guest.source import guest_source

STARTER = "def learn(r):\n    return 2 * r\n"
EDITED = """import math

def learn(r):
    mean = math.sqrt(4)
    r = (r - 0 * mean) / max(1, 0)
    if r > 100:
        r = 100
    print(r)
    return 3 * r
"""


def versions(before: str, after: str) -> dict[tuple[int, int], str]:
    changed = changed_lines(before.encode(), after.encode())
    ran = frozenset(range(1, 100))
    return {(each.start_line, each.end_line): each.text for each in reverted("a.py", before, after, changed, ran)}


def test_each_change_is_taken_back_and_each_new_statement_left_out() -> None:
    found = versions(STARTER, EDITED)
    assert {(5, 5), (6, 7), (7, 7)} <= found.keys()
    assert found[6, 7].split("\n")[5:7] == ["    pass", "    print(r)"]
    assert (8, 8) not in found, "what only prints has no effect to look for"
    whole = versions(STARTER, STARTER.replace("2 * r", "3 * r"))
    assert whole == {(2, 2): STARTER}


def test_the_end_of_a_function_is_taken_back_without_what_follows_it() -> None:
    """The edit also adds a constant after the function, and another change needs that constant."""
    edited = "def learn(r):\n    return 3 * r\n\n\nBEST = 4\n\n\ndef act(r):\n    return BEST\n"
    before = "def learn(r):\n    return 2 * r\n\n\ndef act(r):\n    return learn(r)\n"
    assert (
        versions(before, edited)[2, 4]
        == "def learn(r):\n    return 2 * r\nBEST = 4\n\n\ndef act(r):\n    return BEST\n"
    )


def test_what_did_not_run_is_left_as_it_is() -> None:
    changed = changed_lines(STARTER.encode(), EDITED.encode())
    assert list(reverted("a.py", STARTER, EDITED, changed, frozenset())) == []


def test_a_setting_may_be_neutral() -> None:
    code = "ALPHA, BETA = 1.0, 0.5\ndef mix(a, b, c=1.0):\n    return ALPHA * a + BETA * b + c * args.c\n"
    found = [each.code for each in watched("a.py", code, {3}).operations]
    assert found == ["ALPHA * a + BETA * b + c * args.c", "ALPHA * a + BETA * b"]


def test_operations_that_give_back_an_operand_are_recorded(tmp_path: Path) -> None:
    code = """'''Doc.'''
from __future__ import annotations

def step(x, v):
    x = x + 0.0 * v + 1e-300
    return x - 0.1 * v, "%s" % x

values = [step(x, x) for x in (1.0, 2.0, 3.0)]
print([round(a, 9) for a, _ in values])
"""
    made = watched("a.py", code, frozenset(range(1, 10)))
    (tmp_path / "_xkg_operations.py").write_text(guest_source("operations"))
    (tmp_path / "a.py").write_text(made.text)
    ran = subprocess.run([sys.executable, "a.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout == "[0.9, 1.8, 2.7]\n"
    record = json.loads((tmp_path / f"a.py{RECORD}").read_text())
    given_back = {made.operations[int(n)].code: (times, side) for n, (times, side) in record.items()}
    assert given_back == {"x + 0.0 * v": (3, 0)}
