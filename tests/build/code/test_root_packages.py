"""Tests repositories that import themselves by a name that none of their folders has, as after unpacking a ZIP file."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build.codebases import codebase_of, run
from xkg.build.slicing.slice import slice_symbols

SETUP = "from setuptools import setup\nsetup(name='proj-x', packages=['proj'], package_dir={'proj': 'code_dir'})\n"
RUN = "from proj.a import a\nfrom proj.b import b\ndef main(): return a() + b()\n"
PACKAGE = {"a.py": "from proj.b import b\ndef a(): return b() + 1\n", "b.py": "def b(): return 1\n", "run.py": RUN}
NET = "class Net: depth = 3\n"
USES_NET = "from proj.model import Net\ndef main(): return Net.depth\n"


def sliced(files: dict[str, str], symbol: str, folder: str = "proj-main") -> Any:
    identity = f"local:{folder}@0123456789"
    return slice_symbols(codebase_of(files, identity), [f"{identity}:{symbol}"])


LAYOUTS = {
    "the repository is the package": (PACKAGE, "run.py", 3),
    "with an __init__ of its own": (
        {
            "__init__.py": "from .a import a\nfrom .b import b\n",
            **PACKAGE,
            "tests/t.py": "import proj\nfrom proj import b\ndef main(): return proj.a() + b()\n",
        },
        "tests/t.py",
        3,
    ),
    "modules from the top": (
        {
            "utils.py": "def f(): return 1\n",
            "models.py": "from proj import utils\ndef g(): return utils.f()\n",
            "run.py": "from proj import models, utils\ndef main(): return models.g() + utils.f()\n",
        },
        "run.py",
        2,
    ),
    "star imports and aliases": (
        {
            "common/typing.py": "from typing import *\nData = dict\n",
            "common/net.py": "from proj.common.typing import *\ndef net(d: Data): return 3\n",
            "run.py": "from proj.common.net import net\nimport proj.common.net as n\n"
            "def main(): return net({}) + n.net({})\n",
        },
        "run.py",
        6,
    ),
    "imports inside functions, and a fallback": (
        {
            **PACKAGE,
            "eval.py": "try:\n    from proj.b import b\nexcept ImportError:\n    from b import b\n"
            "def main():\n    from proj.a import a\n    import proj.b as other\n    return a() + b() + other.b()\n",
        },
        "eval.py",
        4,
    ),
    "a package in a folder of another name": ({f"proj_v2/{p}": t for p, t in PACKAGE.items()}, "proj_v2/run.py", 3),
    "setup.py names the package": ({"setup.py": SETUP, "code_dir/model.py": NET, "run.py": USES_NET}, "run.py", 3),
    "the requirements are others": ({"requirements.txt": "torch\n", "model.py": NET, "run.py": USES_NET}, "run.py", 3),
    "a folder without __init__ two levels down": (
        {"old/x/net/model.py": NET, "old/x/util.py": "def u(): return 1\n",
         "run.py": "from proj.net.model import Net\nfrom proj.util import u\ndef main(): return Net.depth + u()\n"},
        "run.py",
        4,
    ),
    "a folder that sys.path names, by star": (
        {
            "deep/er/core.py": "def a(): return 4\n",
            "exp/run.py": "import sys\nsys.path.insert(0, '../deep/er')\nfrom core import *\nimport core\n"
            "def main(): return a() + core.a()\n",
        },
        "exp/run.py",
        8,
    ),
    "two versions side by side": (
        {f"v{n}/{p}": t.replace("return 1", f"return {n}") for n in (1, 2) for p, t in PACKAGE.items()},
        "v2/run.py",
        5,
    ),
    "one module in a folder, imported once": (
        {"common/model.py": NET, "exp/run.py": USES_NET.replace("proj.model", "proj.common.model")},
        "exp/run.py",
        3,
    ),
    "named like a standard module": (
        {p: t.replace("proj.", "code.") for p, t in PACKAGE.items()},
        "run.py",
        3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_repository_finds_itself_by_its_own_name(layout: str) -> None:
    files, path, expected = LAYOUTS[layout]
    cut = sliced(files, f"{path}::main", "another-name")
    assert run(cut.source)["main"]() == expected
    assert (cut.packages, cut.missing) == ((), {})


names = st.from_regex(r"[a-z][a-z0-9]{0,8}(-main|-1\.0|_code)?", fullmatch=True)


@given(st.just("proj") | names, names)
def test_the_name_of_the_folder_changes_nothing(first: str, second: str) -> None:
    for files, path, _ in (LAYOUTS["the repository is the package"], LAYOUTS["star imports and aliases"]):
        cuts = [sliced(files, f"{path}::main", folder) for folder in (first, second)]
        assert cuts[0].source == cuts[1].source


FOREIGN = {
    "its own module imports the name from there": (
        {
            "tasks/metrics.py": "from sklearn.metrics import f1_score, accuracy_score\ndef both(): return f1_score\n",
            "run.py": "from sklearn.metrics import f1_score\ndef main(): return f1_score\n",
        },
        "sklearn",
    ),
    "a copy of one module of a larger library": (
        {
            "models/resnet.py": "class BasicBlock: pass\n",
            "run.py": "from torchvision.models.resnet import BasicBlock\nfrom torchvision.ops import nms\n"
            "import torchvision.transforms as T\ndef main(): return BasicBlock, nms, T.Resize\n",
        },
        "torchvision",
    ),
    "modules of the same names with other contents": (
        {
            "models.py": "class Net: pass\n",
            "utils.py": "def seed(): pass\n",
            "run.py": "from torchvision import models, utils\ndef main(): return models.resnet18, utils.make_grid\n",
        },
        "torchvision",
    ),
    "one module of the top, imported once": (
        {
            "metrics.py": "def f1_score(): pass\n",
            "run.py": "from sklearn.metrics import f1_score\ndef main(): return f1_score\n",
        },
        "sklearn",
    ),
    "the repository asks for it": (
        {
            "requirements.txt": "timm>=0.9\n",
            "models/layers.py": "class DropPath: pass\n",
            "run.py": "from timm.models.layers import DropPath\nimport timm.optim\n"
            "def main(): return DropPath, timm.optim\n",
        },
        "timm",
    ),
    "a wrapper that is called like the package": (
        {
            "requirements.txt": "numpy\n",
            "common/wandb.py": "def setup_wandb(): pass\ndef config(): pass\n",
            "run.py": "import wandb\ndef main(): return wandb.init(), wandb.log, wandb.Image, wandb.finish\n",
        },
        "wandb",
    ),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_package_of_others_stays_one(kind: str) -> None:
    files, package = FOREIGN[kind]
    assert sliced(files, "run.py::main").packages == (package,)


def test_what_its_own_package_lacks_is_not_asked_of_a_registry() -> None:
    lacking = (
        "from proj._C import op\nfrom proj import version\nfrom proj.c import c\ndef fast(): return op(version, c)\n"
    )
    cut = sliced({**PACKAGE, "c.py": "c = 1\n", "run.py": RUN + lacking}, "run.py::fast")
    assert cut.packages == ()
    assert {"op", "version"} == set(cut.missing)
