from pathlib import Path

import pytest

from xkg.blacklist import parse_blacklist, read_blacklist
from xkg.errors import InputError


def test_of_a_server_that_is_not_known_case_and_www_do_not_count() -> None:
    blacklist = parse_blacklist("https://git.example.org/Owner/Name")
    assert blacklist.repository("https://www.git.example.org/owner/name") is not None
    assert blacklist.repository("https://git.example.org/owner/name/src/branch/main") is not None
    assert blacklist.repository("https://git.example.org/owner/names") is None


def test_papers_by_id_doi_and_title() -> None:
    text = "# held out\n2402.17135v2  # FRE\n10.1234/Filters.5\nBatch and match: black-box variational inference\n\n"
    blacklist = parse_blacklist(text)
    assert blacklist.paper(arxiv_id="2402.17135") is not None
    assert blacklist.paper(doi="10.1234/filters.5") is not None
    assert blacklist.paper(title="Batch and Match -- Black-Box Variational Inference") is not None
    assert blacklist.paper(arxiv_id="2402.17136", title="Batch normalization") is None
    assert blacklist.repository("https://github.com/owner/name") is None


@pytest.mark.parametrize(
    "entry",
    ["2402.17135", "arXiv:2402.17135v3", "https://arxiv.org/pdf/2402.17135.pdf", "http://www.arxiv.org:80/abs/2402.17135v1",
     "arxiv.org./abs/2402.17135", "https://arxiv.org/./%61bs/2402.17135", "doi.org/10.48550/arXiv.2402.17135",
     "10.48550/ARXIV.2402.17135"],
)  # fmt: skip
def test_spellings_of_an_arxiv_id(entry: str) -> None:
    blacklist = parse_blacklist(entry)
    for given_id in ("2402.17135", "2402.17135v2", "arXiv:2402.17135"):
        assert blacklist.paper(arxiv_id=given_id) == "the blacklist contains arXiv:2402.17135"
    assert blacklist.paper(doi="10.48550/arXiv.2402.17135") is not None
    assert parse_blacklist("2402.17135").paper(doi=entry, arxiv_id=entry) is not None
    assert blacklist.paper(arxiv_id="2402.17136", doi="10.48550/arXiv.2402.17136") is None


@pytest.mark.parametrize(
    "entry",
    ["10.1234/Filters.5", "doi:10.1234/filters.5", "DOI: 10.1234/FILTERS.5", "https://doi.org/10.1234/filters.5",
     "http://dx.doi.org/10.1234%2FFilters.5", "doi.org:443/10.1234/filters.5", "info:doi/10.1234/filters.5"],
)  # fmt: skip
def test_spellings_of_a_doi(entry: str) -> None:
    assert parse_blacklist(entry).paper(doi="https://DOI.org/10.1234/filters.5") is not None
    assert parse_blacklist("10.1234/filters.5").paper(doi=entry) is not None
    assert parse_blacklist(entry).paper(doi="10.1234/filters.6") is None


def test_a_file_that_names_nothing_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "list.txt"
    empty.write_text("# nothing\n\n")
    with pytest.raises(InputError, match="is empty"):
        read_blacklist(empty)
    with pytest.raises(InputError, match="cannot be read"):
        read_blacklist(tmp_path / "missing.txt")
