from pathlib import Path

import pytest

from tests.sandbox.index import wheel
from xkg.sandbox.packages.wheels import Contents, Wheel, contents, lacks


def test_the_list_of_files_of_a_wheel_with_a_hash_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "alpha-1.0-py3-none-any.whl"
    certain, uncertain = (Wheel("alpha", "1.0", file.as_uri(), sha256) for sha256 in ("ab" * 32, ""))
    unread = Contents(0, None)
    assert contents(certain, str(tmp_path)) == unread
    file.write_bytes(wheel("alpha", "1.0", {"alpha/__init__.py": "value = 1", "beta.py": ""}))
    found = [contents(each, str(tmp_path)) for each in (certain, uncertain)]
    assert found[0].modules == frozenset({"alpha", "beta"})
    file.unlink()
    assert [contents(each, str(tmp_path)) for each in (certain, uncertain)] == [found[0], unread]


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("other = 1", True),
        ("from .part import *\nfrom p.part import *", True),
        ("wanted, other = 1, 2", False),
        ("from .compiled import wanted", False),
        ("from elsewhere import *", False),
        ("def __getattr__(name): ...", False),
        ("globals().update(x)", False),
        ("sys.modules[__name__] = Lazy()", False),
    ],
)
def test_names_that_a_module_certainly_lacks(tmp_path: Path, source: str, answer: bool) -> None:
    file = tmp_path / "p-1.0-py3-none-any.whl"
    file.write_bytes(wheel("p", "1.0", {"p/__init__.py": source, "p/part.py": "x = 1", "p/sub/__init__.py": ""}))
    place = Wheel("p", "1.0", file.as_uri(), "")
    assert lacks(place, "p", ["wanted", "wanting"]) == answer
    assert not lacks(place, "p", ["wanted", "sub"])
