import math

import pytest

from xkg.model import Ablation
from xkg.web.rendering.measured import WIDTH, shown


def ablation(change: float, low: float | None, high: float | None, direction: str = "max", diff: str = "") -> Ablation:
    return Ablation(
        id=f"p#t!{change}", technique="p#t", metric="accuracy", direction=direction, baseline=1.0, value=1 + change,
        change=change, low=low, high=high, seeds=3, kind="toggle", diff=diff, commit="c", command="run",
        measured_at="2026-01-01T00:00:00Z",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "low", "high", "direction", "verdict"),
    [
        (-0.2, -0.3, -0.1, "max", "worse"),
        (0.2, 0.1, 0.3, "max", "better"),
        (0.2, 0.1, 0.3, "min", "worse"),
        (-0.2, -0.5, 0.1, "max", "open"),
        (0.0, None, None, "min", "open"),
    ],
)
def test_worse_and_better_follow_the_metric(
    change: float, low: float | None, high: float | None, direction: str, verdict: str
) -> None:
    [each] = shown([ablation(change, low, high, direction)])
    assert each.bar.verdict == verdict


def test_what_has_no_end_stays_in_the_drawing() -> None:
    for each in shown([ablation(math.inf, -math.inf, math.inf), ablation(math.nan, None, None)]):
        assert all(0 <= place <= WIDTH for place in (each.bar.zero, each.bar.at, each.bar.low or 0, each.bar.high or 0))


def test_changed_lines_are_marked() -> None:
    diff = (
        "--- a/src/net.py\n+++ b/src/net.py\n@@ -3 +3,2 @@ def f():\n-    old\n+    new\n+    newer\n"
        "@@ -10,4 +11,4 @@\n context\n--- /dev/null\n+++ b/added.py\n@@ -0,0 +1,2 @@\n+x\n+y\n"
    )
    [each] = shown([ablation(0.1, None, None, diff=diff)])
    assert [line.marks for line in each.diff[:6]] == ["head", "head", "head", "removed", "added", "added"]
