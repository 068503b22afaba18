from tests.build.codebases import codebase_of, symbol
from xkg.build.guided.coding.made_from import made_from

FILES = {
    "a.py": """import numpy as np
FLOOR = 1e-8
UNUSED = 3

def smooth(x):
    y = np.exp(-x) + np.log(x)
    return np.maximum(y, FLOOR)

def weights(n):
    scale = np.linalg.norm(n) * 2
    return np.linspace(0, scale, n)

class Plan:
    def rate(self, s):
        mean = np.mean(s) - np.std(s)
        return np.clip(mean, 0, 1)

    def log(self, s):
        total = np.sum(s) / len(s)
        return np.round(total, 3)
"""
}


def test_what_a_module_was_made_from_is_what_it_has_statements_or_names_of() -> None:
    sources = [symbol(f"a.py::{n}") for n in ("Plan.log", "smooth", "weights", "FLOOR", "UNUSED", "Plan.rate")]
    code = """import numpy as np
FLOOR = 1e-8

def smoothed(values):
    result = np.exp(-values) + np.log(values)
    return np.maximum(result, FLOOR)

def rate(s):
    mean = np.mean(s) - np.std(s)
    return np.clip(mean, 0, 1)
"""
    found = made_from(code, symbol("a.py::Plan.log"), sources, codebase_of(FILES))
    assert [identity.rpartition("::")[2] for identity in found] == ["Plan.log", "smooth", "FLOOR", "Plan.rate"]
