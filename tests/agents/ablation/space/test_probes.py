import copy
import dataclasses

import pytest

from xkg.agents.ablation.space.probes import VALUE


@pytest.mark.parametrize(
    ("use", "ends"),
    [
        ("v * 2", True),
        ("2.0 - v", True),
        ("1 if v else 0", True),
        ("v == 3", True),
        ("v in {3}", True),
        ("float(v)", True),
        ("range(v)", True),
        ("max(v, 1)", True),
        ("str(v)", False),
        ("f'{v}'", False),
        ("[v][0]", False),
        ("copy.deepcopy({'k': v})", False),
        ("v is None", False),
        ("(lambda rate: rate)(v)", False),
        ("dataclasses.make_dataclass('C', [('r', float, v)])()", False),
    ],
)
def test_use_ends_the_program(use: str, ends: bool) -> None:
    known = {"v": eval(VALUE), "copy": copy, "dataclasses": dataclasses}
    if ends:
        with pytest.raises(SystemExit, match="it is used"):
            eval(use, known)
    else:
        eval(use, known)
