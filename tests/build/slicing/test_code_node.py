from collections.abc import Mapping

import pytest

from tests.build.codebases import codebase_of
from xkg.build.code.codebase import Codebase
from xkg.build.slicing.code_node import code_node
from xkg.errors import UnknownIdError
from xkg.sandbox.evidence.static_checks import check_parsed

FILES = {
    "tern/rates.py": """import math

FLOOR = 1e-8


def decay(step):
    \"\"\"Exponential decay of the rate.\"\"\"
    return max(FLOOR, math.exp(-step))


def unused():
    return 0
""",
    "tern/train.py": """import numpy as np

from tern.rates import decay


def schedule(steps):
    return np.array([decay(s) for s in range(steps)])
""",
    "old.py": "def speak((x, y)):\n    print x\n",
}


def parsed(files: Mapping[str, str], commit: str | None = "0123456789abcdef" * 2) -> Codebase:
    return codebase_of(files, "local:tern@1", commit)


def test_a_node_holds_its_symbol_with_what_it_needs_and_says_where_from() -> None:
    codebase = parsed(FILES)
    node, sources = code_node("p#t", "local:tern@1:tern/train.py::schedule", codebase)
    assert check_parsed(node.implementation).reason is None
    assert "def decay" in node.implementation
    assert "unused" not in node.implementation
    assert sources[0] == "local:tern@1:tern/train.py::schedule"
    assert set(sources) <= set(codebase.symbols())
    assert "local:tern@1:tern/rates.py::decay" in sources
    assert node.packages == ("numpy",)
    assert node.documentation.startswith("`def schedule(steps)`, from tern/train.py:6-7 @ 0123456789ab.")
    namespace: dict[str, object] = {}
    exec(compile(node.implementation.replace("import numpy as np", "class np: array = list"), "n", "exec"), namespace)
    assert len(namespace["schedule"](3)) == 3  # type: ignore[operator]


def test_the_docstring_of_the_symbol_is_its_documentation() -> None:
    node, _ = code_node("p#t", "local:tern@1:tern/rates.py::decay", parsed(FILES, None))
    assert node.documentation == ("`def decay(step)`, from tern/rates.py:6-8.\n\nExponential decay of the rate.")


def test_what_cannot_be_sliced_comes_as_its_own_lines() -> None:
    node, sources = code_node("p#t", "local:tern@1:old.py::speak", parsed(FILES))
    assert node.implementation == "# --- old.py:1-2 @ 0123456789ab\ndef speak((x, y)):\n    print x\n"
    assert sources == ("local:tern@1:old.py::speak",)
    assert (
        "Contains only the symbol's own lines, not the code that it needs: old.py is not Python 3" in node.documentation
    )


def test_the_same_symbol_gives_the_same_id_and_another_technique_another() -> None:
    first = code_node("p#t", "local:tern@1:tern/rates.py::decay", parsed(FILES))[0]
    assert first == code_node("p#t", "local:tern@1:tern/rates.py::decay", parsed(FILES))[0]
    assert first.id.startswith("p#t@")
    changed = FILES | {"tern/rates.py": FILES["tern/rates.py"].replace("1e-8", "1e-9")}
    assert first.id != code_node("p#t", "local:tern@1:tern/rates.py::decay", parsed(changed))[0].id


def test_a_symbol_that_is_not_there() -> None:
    with pytest.raises(UnknownIdError, match="gone"):
        code_node("p#t", "local:tern@1:tern/rates.py::gone", parsed(FILES))


def test_a_kernel_comes_as_its_own_lines_and_says_that_only_python_is_sliced() -> None:
    kernel = "// step\n__global__ void ternStep(float *x) {\n  x[threadIdx.x] *= 0.5f;\n}\n"
    codebase = parsed({**FILES, "tern/step.cu": kernel})
    node, sources = code_node("p#t", "local:tern@1:tern/step.cu::ternStep", codebase)
    assert node.language == "cuda"
    assert node.implementation.startswith("// --- tern/step.cu:")
    assert "x[threadIdx.x] *= 0.5f;" in node.implementation
    assert sources == ("local:tern@1:tern/step.cu::ternStep",)
    assert "tern/step.cu is cuda, and only Python can be sliced" in node.documentation


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("n, A = 0, None", " Placeholders to set before use: n = 0, A = None."),
        ("n = 0\nA = None", " Placeholders to set before use: n = 0, A = None."),
        ("n = 3\nA: list = [1.0]", ""),
        ("n = 3\nFIRST_ROW = 0\nA = [FIRST_ROW]", ""),
        ("n = 0\nn = 4\nA = [n]", ""),
    ],
)
def test_variables_that_somebody_must_set_are_announced_first(settings: str, said: str) -> None:
    codebase = parsed({"solve.py": f"{settings}\n\n\ndef solve(x):\n    return A[0] * x + n\n"})
    node, _ = code_node("p#t", "local:tern@1:solve.py::solve", codebase)
    first = node.documentation.split("\n")[0]
    assert first.partition(".py:")[2].partition(".")[2] == said


def test_a_long_base_class_comes_along() -> None:
    methods = "".join(f"\n    def step_{n}(self):\n        return self.step_{n + 1}()\n" for n in range(900))
    net = "from tern.base import Base\n\n\nclass Net(Base):\n    def run(self):\n        return self.step_0()\n"
    codebase = parsed({"tern/base.py": f"class Base:{methods}", "tern/net.py": net})
    node, _ = code_node("p#t", "local:tern@1:tern/net.py::Net", codebase)
    assert check_parsed(node.implementation).reason is None
    assert "def step_899" in node.implementation
