from pathlib import Path

from tests.sandbox.index import wheel
from xkg.sandbox.packages.wheels import Contents, Wheel, contents


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
