from pathlib import Path

import pytest

from xkg.build.repositories.clone import clone_path


@pytest.mark.parametrize("other", ["https://GitHub.com/Owner/Name.git", "https://github.com:443/owner/./name"])
def test_spellings_of_an_address_share_a_clone(other: str, tmp_path: Path) -> None:
    commit = "a" * 40
    assert clone_path(other, commit, tmp_path) == clone_path("https://github.com/owner/name", commit, tmp_path)
    assert clone_path(other, commit, tmp_path) != clone_path("https://github.com/owner/other", commit, tmp_path)
