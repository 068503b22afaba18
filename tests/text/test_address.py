"""Checks that all spellings of an address have one normal form, and that different addresses have different ones."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.text.address import address, canonical_host, repository_address, same_server

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GIST = "0123456789abcdef0123456789abcdef"

SPELLINGS = {
    "github.com/owner/name": [
        "https://github.com/Owner/Name", "github.com:443/owner/name", "https://github.com./owner/name",
        "https://github.com/owner/%6eame", "https://github.com/./owner/name",
        "http://www.github.com:80/owner/name.git/",
        "https://github.com/x/..//owner/name", "https://github.com/x/%2e%2e/owner%2Fname", "//github.com/owner/name",
        "https://github.com/owner/name.GIT", "https://github.com/owner/name.git.git", "HTTPS:github.com/owner/name",
        "https:///github.com/owner/name", "https://%67ithub.com/owner/name", "https://ＧｉｔＨｕｂ。com/owner/name",
        "https://user:p%40ss@github.com/owner/name", "git@github.com:owner/name.git", "org-1@github.com:/owner/name",
        "github.com:owner/name", "ssh://git@github.com:22/owner/name", "ssh://git@ssh.github.com:443/owner/name.git",
        "git://github.com/owner/name", "git+https://github.com/owner/name@v1", "git+ssh://git@github.com/owner/name",
        "https://github.com/owner/name@feature/x", "https://github.com/owner/name?tab=readme#top",
        "https://github.com/owner/name/tree/main/src", f"https://github.com/owner/name/archive/{COMMIT}.zip",
        "https://api.github.com/repos/owner/name/contents/a.py", "https://raw.githubusercontent.com/owner/name/main/a",
        "https://codeload.github.com/owner/name/zip/refs/heads/main",
        "https://media.githubusercontent.com/media/owner/name",
        " github.com/owner/name ", f"github.com/owner/name@{COMMIT}",
    ],
    f"gist.github.com/{GIST}": [
        f"https://gist.github.com/{GIST}", f"https://gist.github.com/owner/{GIST}.git",
        f"git@gist.github.com:{GIST}.git",
        f"https://gist.githubusercontent.com/owner/{GIST}/raw/{COMMIT}/a.py", f"https://api.github.com/gists/{GIST}",
        f"https://gist.github.com/{GIST.upper()}/{COMMIT}",
    ],
    "gitlab.com/group/sub/name": [
        "https://gitlab.com/group/sub/name", "https://gitlab.com/Group/Sub/Name.git",
        "git@gitlab.com:group/sub/name.git",
        "https://gitlab.com/group/sub/name/-/tree/main", "https://gitlab.com/group/sub/name/blob/main/a.py",
        "https://gitlab.com/api/v4/projects/group%2Fsub%2Fname/repository/files", "www.gitlab.com/group/sub/name",
    ],
    "bitbucket.org/owner/name": [
        "https://bitbucket.org/owner/name/src/main/", "https://api.bitbucket.org/2.0/repositories/owner/name/commits",
        "git@bitbucket.org:owner/name.git", "ssh://git@altssh.bitbucket.org:443/owner/name.git",
    ],
    "codeberg.org/owner/name": ["codeberg.org/owner/name/src/branch/main", "https://codeberg.org/api/v1/repos/owner/name"],
    "huggingface.co/owner/name": [
        "https://huggingface.co/owner/name", "https://hf.co/owner/name/resolve/main/config.json",
        "git@hf.co:Owner/Name",
        "https://huggingface.co/api/models/owner/name",
    ],
    "huggingface.co/datasets/owner/name": [
        "https://huggingface.co/datasets/owner/name/tree/main", "https://huggingface.co/api/datasets/owner/name",
    ],
    "git.example.org:8443/A/b/c": [
        "https://GIT.example.org:8443/A/b/c", "https://git.example.org:8443/A/./b//c.git",
        "git.example.org:8443/A/b/%63/",
        "https://git.example.org.:8443/A/b/c.git/info/refs", "https://git.example.org:8443/A/b/c/-/tree/main",
    ],
    "127.0.0.1/a/b": ["https://127.1/a/b", "https://0x7f000001/a/b", "https://2130706433/a/b", "https://[::ffff:7f00:1]/a/b"],
    "xn--bcher-kva.example/a/b": ["https://bücher.example/a/b", "https://XN--Bcher-kva.example/a/b",
        "b%C3%BCcher.example/a/b"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in SPELLINGS.items() for text in texts])
def test_spellings_have_one_name(name: str, text: str) -> None:
    found = repository_address(text)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "text",
    ["", "name", "owner/name", "/home/me/code", "./a/b", "../a/b", "C:/a/b", "C:\\a\\b", "https://github.com",
     "https://github.com/owner", "A Title: Of This/That", "https://github.com\\owner\\name", "https://git hub.com/o/n",
     "https://github.com\\@evil.example/o/n", "https://github.com/o\n/n", "file:///a/b/c", "ftp://github.com/o/n",
     "https://github.com/o/.git", "https://github.com/o/..git", "https://[::1/o/n", "https://github.com:99999/o/n",
     "https://github..com/o/n", "https://1.2.3.4.5/o/n", "ext::sh -c x/y/z", "https://%2f/o/n",
     "https://www.alphaxiv.org/abs/2401.01234v2", "arxiv.org/abs/2401.01234", "https://papers.cool/arxiv/2401.01234"],
)  # fmt: skip
def test_what_is_no_repository(text: str) -> None:
    assert repository_address(text) is None


def test_others_are_other_repositories() -> None:
    texts = [
        "https://github.com/owner/name", "https://github.com/owner/names", "https://github.com/owner/name.wiki.git",
        "https://gitlab.com/owner/name", "https://gitlab.com/owner/name/sub", "https://github.com.example.org/owner/name",
        "https://github.com@example.org/owner/name", "https://example.org/github.com/owner/name", "https://example.org/a/B",
        "https://example.org/a/b", "https://www.example.org/a/b", "https://example.org:8443/a/b",
        "https://huggingface.co/datasets/owner/name", "https://huggingface.co/spaces/owner/name",
        "https://huggingface.co/owner/name", "https://example.org/a/%FF", "https://example.org/a/%FE",
        "https://gıthub.com/owner/name", "https://github.com/owner/name%40v1",
    ]  # fmt: skip
    names = [found.name for text in texts if (found := repository_address(text)) is not None]
    assert len(set(names)) == len(texts)


@pytest.mark.parametrize(
    ("page", "within", "reference"),
    [
        ("https://github.com/o/n/tree/main/x/y", "x/y", "main"),
        ("https://github.com/o/n/releases/tag/v1", "", "v1"),
        ("https://github.com/o/n/releases/download/v1/n.zip", "n.zip", "v1"),
        ("https://github.com/o/n/tree/refs/heads/main/x", "x", "main"),
        ("https://github.com/o/n/blame/main/a.py#L3", "a.py", "main"),
        ("https://raw.githubusercontent.com/o/n/refs/heads/main/a.py", "a.py", "main"),
        ("https://gitlab.com/o/n/-/tags/v1", "", "v1"),
        ("https://bitbucket.org/o/n/get/v1.tar.gz", "", "v1"),
        ("https://huggingface.co/o/n/resolve/main/a.py", "a.py", "main"),
        ("https://github.com/o/n/commit/abc123", "", "abc123"),
        ("https://codeberg.org/o/n/src/branch/main/x", "x", "main"),
        ("https://bitbucket.org/o/n/src/master/", "", "master"),
        ("https://github.com/o/n/issues/3", "issues/3", ""),
        ("https://gitlab.com/o/n/-/archive/feature/x/n-feature-x.tar.gz?path=src", "", "feature/x"),
        ("https://gitlab.com/o/n/-/releases/v1", "", "v1"),
        ("https://github.com/o/n/archive/refs/heads/feature/x.zip", "", "feature/x"),
        ("https://codeload.github.com/o/n/legacy.tar.gz/main", "", "main"),
        ("https://api.github.com/repos/o/n/zipball/v2", "", "v2"),
        ("https://git.sr.ht/o/n/tree/main/item/a.py", "a.py", "main"),
        ("https://colab.research.google.com/github/o/n/blob/main/a.ipynb", "a.ipynb", "main"),
        ("https://mybinder.org/v2/gh/o/n/HEAD", "", "HEAD"),
        ("https://git.example.org/o/n/src/branch/main/a.py", "a.py", "main"),
        ("https://github.example.edu/o/n/tree/main/x", "x", "main"),
    ],
)
def test_pages_of_a_branch_tag_or_commit(page: str, within: str, reference: str) -> None:
    found = repository_address(page)
    assert found is not None
    assert (found.path, found.within, found.reference) == ("o/n", within, reference)


@given(
    st.text(max_size=80)
    | st.from_regex(r"https://(github\.com|[a-z.:@%0-9]{1,20})/[a-z.%0-9/@#?-]{0,40}", fullmatch=True)
)
def test_what_is_fetched_is_what_was_compared(text: str) -> None:
    found = repository_address(text)
    if found is not None:
        again = repository_address(found.url)
        assert again is not None
        assert (again.name, again.url, again.within) == (found.name, found.url, "")
        assert found.url.isascii()


@given(st.text(max_size=60))
def test_words_of_a_path_survive(word: str) -> None:
    """A path keeps its names in any alphabet, whichever program encoded it."""
    if word in ("", ".", "..", "-") or word.endswith(".git") or "/" in word or not word.isprintable():
        return
    found = repository_address(f"https://git.example.org/a/{quote(word, safe='')}")
    assert found is not None
    assert found.path == "a/" + quote(word, safe="!$&'()*+,;=:")


def test_servers() -> None:
    assert same_server("https://PyPI.org/simple", "https://pypi.org.:443/other")
    assert same_server("http://example.org", "https://example.org")
    assert not same_server("https://example.org:8443", "https://example.org")
    assert not same_server("https://example.org", "no address")
    assert address("http://[::1]:80/a").server == "[::1]"
    assert address("http://127.1/").is_loopback
    assert address("https://localhost.:8/").is_loopback
    assert not address("https://127.0.0.1.example.org/").is_loopback
    with pytest.raises(ValueError, match="not a host name"):
        canonical_host("a/b")
