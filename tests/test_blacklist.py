from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.blacklist import parse_blacklist, read_blacklist, repository_name
from xkg.errors import InputError


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/Owner/Name",
        "http://www.github.com/owner/name.git",
        "github.com/owner/name/",
        "https://github.com/owner/name/tree/main/src",
        "git@github.com:owner/name.git",
        "ssh://git@github.com/owner/name",
        "https://github.com/owner/name@v1.0",
        "https://github.com/owner/name#readme",
    ],
)
def test_addresses_of_one_repository(address: str) -> None:
    blacklist = parse_blacklist("https://github.com/owner/name")
    assert blacklist.repository(address) == "the blacklist names github.com/owner/name"
    assert parse_blacklist(address).repository("https://github.com/owner/name") is not None


@pytest.mark.parametrize("address", ["https://github.com/owner/names", "https://gitlab.com/owner/name", "name", ""])
def test_other_repositories_pass(address: str) -> None:
    assert parse_blacklist("https://github.com/owner/name").repository(address) is None


def test_papers_by_id_doi_and_title() -> None:
    text = "# held out\n2402.17135v2  # FRE\n10.1234/Filters.5\nBatch and match: black-box variational inference\n\n"
    blacklist = parse_blacklist(text)
    assert blacklist.paper(arxiv_id="2402.17135") is not None
    assert blacklist.paper(doi="10.1234/filters.5") is not None
    assert blacklist.paper(title="Batch and Match -- Black-Box Variational Inference") is not None
    assert blacklist.paper(arxiv_id="2402.17136", title="Batch normalization") is None
    assert blacklist.repository("https://github.com/owner/name") is None


def test_a_file_that_names_nothing_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "list.txt"
    empty.write_text("# nothing\n\n")
    with pytest.raises(InputError, match="names nothing"):
        read_blacklist(empty)
    with pytest.raises(InputError, match="cannot be read"):
        read_blacklist(tmp_path / "missing.txt")


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    blacklist = parse_blacklist(text)
    repository_name(text)
    blacklist.paper(title=text)


@given(st.from_regex(r"[a-z0-9-]{1,20}/[a-z0-9_-]{1,20}", fullmatch=True))
def test_what_is_listed_is_kept_out(name: str) -> None:
    assert parse_blacklist(f"https://github.com/{name}").repository(f"HTTPS://GITHUB.com/{name.upper()}") is not None
