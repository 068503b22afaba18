import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.sandbox.packages.wheel_exports import foreign


def lacks(files: dict[str, str], *names: str) -> bool:
    return foreign("p", names, files, lambda path: files[path].encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    "source",
    [
        "def wanted(): ...",
        "class wanted: ...",
        "wanted = 1",
        "x, (wanted, *y) = f()",
        "import wanted",
        "import other.deep as wanted",
        "from other import wanted",
        "try:\n    import wanted\nexcept ImportError:\n    wanted = None",
        "def f():\n    global wanted\n    wanted = 1",
        "wanted: int = 1",
        "for wanted in (): ...",
    ],
)
def test_a_name_that_the_module_binds(source: str) -> None:
    assert not lacks({"p.py": source}, "wanted")
    assert not lacks({"p/__init__.py": source}, "wanted", "absent")
    assert lacks({"p.py": source}, "absent")


@pytest.mark.parametrize(
    "source",
    [
        "def __getattr__(name): ...",
        "__getattr__, __dir__, __all__ = lazy.attach(__name__)",
        "globals().update(x)",
        "setattr(m, n, v)",
        "sys.modules[__name__] = Lazy()",
        "from elsewhere import *",
        "from .compiled import *",
        "exec(text)",
        "def broken(",
    ],
)
def test_what_cannot_be_told_is_taken_to_be_there(source: str) -> None:
    assert not lacks({"p/__init__.py": source}, "wanted")


def test_stars_within_the_package_are_followed() -> None:
    files = {
        "p/__init__.py": "from .a import *\nfrom p.b import *",
        "p/a.py": "from .sub import *\nfrom . import *\nx = 1",
        "p/b.py": "y = 1",
        "p/sub/__init__.py": "from ..a import *\nz = 1",
    }
    for name in ("x", "y", "z", "a", "sub"):
        assert not lacks(files, name)
    assert lacks(files, "absent")


@given(st.text(max_size=80))
def test_a_name_that_any_source_binds_is_not_missing(source: str) -> None:
    assert not lacks({"p.py": f"{source}\nx = 1\n"}, "x")
