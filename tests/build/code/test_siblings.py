from tests.build.slicing.test_slice import codebase_of
from xkg.build.code.siblings import listed_beside, siblings

FILES = {
    "calibration.py": """\
class Raw:
    def fit(self, p):
        return p

class Beta1:
    def fit(self, p):
        return p

class Beta2:
    def fit(self, p):
        return p

class Beta:
    pass

def step1(x):
    return x

KINDS = {"raw": Raw, "beta": Beta1, "other": make}
""",
    "other.py": "class Beta3:\n    pass\n",
}


def place(name: str) -> str:
    return f"local:made@0123456789:calibration.py::{name}"


def test_what_differs_in_digits_alone_stands_beside() -> None:
    codebase = codebase_of(FILES)
    assert siblings(codebase, [place("Beta1")]) == (place("Beta2"),)
    assert siblings(codebase, [place("Beta1"), place("Beta2")]) == ()
    assert siblings(codebase, [place("Raw"), place("step1"), place("Beta1.fit")]) == ()


def test_what_a_table_lists_is_named_with_it() -> None:
    codebase = codebase_of(FILES)
    assert listed_beside(codebase, [place("Beta1")]) == {"KINDS": ("Raw",)}
    assert listed_beside(codebase, [place("Beta2")]) == {}
