"""Tests which papers and repositories a remote caller may ask the server to build."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.errors import InputError
from xkg.serve.jobs.sources import paper_named, repository_named

HOSTS = ("github.com", "git.example.org:8443")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "code").mkdir(parents=True)
    (root / "paper.tex").write_text("x")
    (tmp_path / "secret.tex").write_text("x")
    (root / "out").symlink_to(tmp_path)
    return root


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("1608.04471", "https://arxiv.org/abs/1608.04471"),
        ("arXiv:1608.04471v2", "https://arxiv.org/abs/1608.04471v2"),
        ("https://arxiv.org/pdf/1608.04471v1?x=y#z", "https://arxiv.org/abs/1608.04471v1"),
        ("math.GT/0309136", "https://arxiv.org/abs/math/0309136"),
    ],
)
def test_papers_of_arxiv_are_taken_by_their_id_alone(name: str, taken: str) -> None:
    assert paper_named(name, ()) == taken


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("https://github.com/owner/name", "https://github.com/owner/name"),
        ("https://GitHub.com/owner/name.git@v1.0", "https://github.com/owner/name.git@v1.0"),
        ("https://github.com/owner/name@feature/x", "https://github.com/owner/name@feature/x"),
        ("https://git.example.org:8443/a/b/c", "https://git.example.org:8443/a/b/c"),
    ],
)
def test_repositories_of_known_hosts_are_taken(name: str, taken: str) -> None:
    assert repository_named(name, (), HOSTS) == taken


def test_what_lies_under_a_root_is_taken_by_its_real_path(root: Path) -> None:
    assert paper_named("paper.tex", [root]) == str(root / "paper.tex")
    assert paper_named(str(root / "code" / ".." / "paper.tex"), [root]) == str(root / "paper.tex")
    assert repository_named("code", [root], ()) == str(root / "code")
    with pytest.raises(InputError, match="is not a folder under"):
        repository_named("paper.tex", [root], ())


@pytest.mark.parametrize(
    "name",
    [
        "", " ", "-", "--help", "--llm=o3", "-v", "file:///etc/passwd", "http://arxiv.org.evil.example/abs/1608.04471",
        "https://evil.example/1608.04471", "/etc/passwd", "../secret.tex", "out/secret.tex", "paper.tex\0.pdf",
        "paper.tex\n--llm", "~/paper.tex", "ftp://arxiv.org/abs/1608.04471", "https://arxiv.org@evil.example/abs/x",
        "\u202e1608.04471", "\\\\host\\share", "1608.04471 --llm", "none.tex", ".", "x" * 5000,
    ],
)  # fmt: skip
def test_no_other_paper_is(root: Path, name: str) -> None:
    for roots in ([root], []):
        if name == "." and roots:
            continue  # the root itself is allowed
        with pytest.raises(InputError) as refused:
            paper_named(name, roots)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 1500


@pytest.mark.parametrize(
    "name",
    [
        "", "-", "--upload-pack=touch /tmp/x", "ext::sh -c touch% /tmp/x", "ssh://git@github.com/o/n",
        "git@github.com:o/n", "file:///etc", "FILE:///etc", "http://github.com/o/n", "git://github.com/o/n",
        "https://localhost/o/n", "https://127.0.0.1/o/n", "https://[::1]/o/n", "https://169.254.169.254/latest/meta-data",
        "https://0x7f000001/o/n", "https://2130706433/o/n", "https://github.com.evil.example/o/n",
        "https://github.com@evil.example/o/n", "https://evil.example#@github.com/o/n", "https://github.com:8443/o/n",
        "https://user:pass@github.com/o/n", "https://github.com/o/n?x=y", "https://github.com/o/n#x",
        "https://github.com/../o/n", "https://github.com/o/-n", "https://github.com/o/n@--upload-pack=x",
        "https://github.com/o/n@a..b", "https://github.com/o/n@{1}", "https://github.com//o/n", "https://github.com/o",
        "https://github.com\\@evil.example/o/n", "https://github.com/%2e%2e/o/n", "https:github.com/o/n", "https:///o/n",
        "https://[/o/n", "https://github.com/o/n\nx", "out", "../..", "/etc", "https://gıthub.com/o/n",
    ],
)  # fmt: skip
def test_no_other_repository_is(root: Path, name: str) -> None:
    for roots in ([root], []):
        with pytest.raises(InputError) as refused:
            repository_named(name, roots, HOSTS)
        assert "\n" not in str(refused.value)


@given(st.text(max_size=60) | st.from_regex(r"https://[a-z.:@/\[\]%#?\\-]{0,40}", fullmatch=True))
def test_whatever_is_taken_is_on_a_known_host(name: str) -> None:
    try:
        taken = repository_named(name, (), HOSTS)
    except InputError:
        return
    assert taken.startswith(tuple(f"https://{host}/" for host in HOSTS))
    assert taken.isprintable()
