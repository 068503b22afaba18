from pathlib import Path

import pytest

from xkg.build.guided.checking.documentation_names import unknown_names, with_remark

MODULE = """
import numpy as np
from scipy.special import expit


class Walker:
    def __init__(self, a=2.0):
        self.a = a

    def sample(self, p0, iterations=1):
        return expit(np.sum(p0)) * self.a * iterations


def stretch(x, *, scale=1.0):
    return x * scale
"""


@pytest.mark.parametrize(
    "known",
    [
        "`Walker(a=2.0)`",
        "`sample(p0, iterations=1)`",
        "`Walker.sample`",
        "`stretch(x, scale=2)`",
        "`stretch(...)`",
        "`scale`",
        "`ValueError`",
        "`$x + y$`",
        "`x + unheard`",
        "`None`",
        "`numpy.random.RandomState`",
        "`2N+1`",
    ],
)
def test_what_the_module_has_is_known(known: str) -> None:
    assert unknown_names(f"Call it as {known}.", MODULE) == []


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("`propose(x)`", ["propose"]),
        ("`stretch(x, width=2)`", ["stretch(width=…)"]),
        ("`stretch(x, y, z)`", ["stretch(…) with 3 arguments"]),
        ("`burn_in`", ["burn_in"]),
        ("`Walker.advance`", ["Walker.advance"]),
        ("`Walker.advance` and `Walker.advance`", ["Walker.advance"]),
    ],
)
def test_what_nothing_has_is_named(text: str, unknown: list[str]) -> None:
    assert unknown_names(f"It has {text} too.", MODULE) == unknown


def test_what_was_left_out_of_the_source_may_be_named_but_not_called() -> None:
    source = "def burn_in(x): return x"
    assert unknown_names("`burn_in` of the source is left out.", MODULE, source) == []
    assert unknown_names("Call `burn_in(x)` first.", MODULE, source) == ["burn_in"]


def test_attributes_of_an_installed_package_are_looked_up_in_its_files(tmp_path: Path) -> None:
    (tmp_path / "numpy" / "linalg").mkdir(parents=True)
    (tmp_path / "numpy" / "__init__.py").write_text("from .core import sum\nraise SystemExit\n")
    (tmp_path / "numpy" / "linalg" / "__init__.py").write_text("def solve(a, b): ...\n")
    text = "It calls `np.sum`, `np.linalg.solve`, `np.linalg.solve_fast(a)` and `np.sum_up`."
    assert unknown_names(text, MODULE, site=tmp_path) == ["np.linalg.solve_fast", "np.sum_up"]
    assert unknown_names(text, MODULE) == []


def test_a_remark_names_what_does_not_exist() -> None:
    assert with_remark("Call `stretch(x)`.", MODULE) == "Call `stretch(x)`."
    assert with_remark("Call `propose(x)`.", MODULE).endswith("Remark: no code here has the name `propose`.")
