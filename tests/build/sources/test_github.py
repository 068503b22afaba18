from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.build.arxiv_server import cut, says, status, without_end
from tests.build.curation.conftest import scholarly  # noqa: F401
from tests.build.scholarly_stand_in import Scholarly, StandInRepository
from tests.clock import TurnedClock
from xkg.build.sources import github
from xkg.build.sources.download import BusyError
from xkg.build.sources.github import GitHub, github_name
from xkg.clock import CLOCK, Clock
from xkg.errors import ConfigError, InputError, UnsafeInputError


@pytest.fixture
def server(scholarly: Scholarly) -> Iterator[Scholarly]:  # noqa: F811
    scholarly.host(
        StandInRepository("lab/tides", "# Tides of the Moon", "Tides", license="Apache-2.0", archived=True, stars=7),
        StandInRepository("lab/empty", None, size=0, commit=None),
        StandInRepository("lab/secret", "# Tides", private=True),
        StandInRepository("fork/tides", "# Tides of the Moon", fork="lab/tides", license="NOASSERTION"),
        *(StandInRepository(f"many/m{n}", "# Currents of the sea", stars=n) for n in range(7)),
    )
    return scholarly


def client(server: Scholarly, folder: Path, clock: Clock = CLOCK) -> GitHub:
    return GitHub(folder / "answers", server.github, clock=clock)


def test_what_a_repository_is(server: Scholarly, tmp_path: Path) -> None:
    found = client(server, tmp_path).repository("lab/tides")
    assert found is not None
    assert (found.url, found.license, found.stars, found.archived) == (
        "https://github.com/lab/tides",
        "Apache-2.0",
        7,
        True,
    )
    assert (found.default_branch, found.commit, found.committed) == ("main", "a" * 40, "2021-06-01")
    assert (found.created, found.pushed, found.readme) == ("2021-03-01", "2021-06-01", "# Tides of the Moon")
    forked = client(server, tmp_path).repository("fork/tides")
    assert forked is not None
    assert (forked.source, forked.license) == ("lab/tides", None)


def test_one_without_commits_and_one_that_is_gone_or_private(server: Scholarly, tmp_path: Path) -> None:
    empty = client(server, tmp_path).repository("lab/empty")
    assert empty is not None
    assert (empty.commit, empty.readme) == (None, "")
    assert client(server, tmp_path).repository("lab/gone") is None
    assert client(server, tmp_path).repository("lab/secret") is None


def test_who_committed(server: Scholarly, tmp_path: Path) -> None:
    server.host(StandInRepository("lab/waves", committers=("Ada Sea", "Ben Foam", "Ada Sea")))
    assert client(server, tmp_path).committers("lab/waves") == ("Ada Sea", "Ben Foam")
    assert client(server, tmp_path).committers("lab/gone") == ()


def test_a_search_goes_over_pages(server: Scholarly, tmp_path: Path) -> None:
    server.page = 3
    found = client(server, tmp_path).search(["currents of the sea"], 5)
    assert [each.full_name for each in found] == [f"many/m{n}" for n in (6, 5, 4, 3, 2)]
    assert len(server.requests) == 2
    assert client(server, tmp_path).search(["nothing of this name"], 5) == []
    assert client(server, tmp_path).search(["", "?!"], 5) == []


def test_answers_are_revalidated(server: Scholarly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "t0ken")
    first = client(server, tmp_path).repository("lab/tides")
    asked = len(server.requests)
    assert client(server, tmp_path).repository("lab/tides") == first
    assert len(server.requests) == 2 * asked
    assert server.not_modified == asked
    server.repositories["lab/tides"].stars = 8
    changed = client(server, tmp_path).repository("lab/tides")
    assert changed is not None
    assert changed.stars == 8


def test_without_a_token_answers_of_the_day_are_not_asked_for_again(server: Scholarly, tmp_path: Path) -> None:
    first = client(server, tmp_path).repository("lab/tides")
    del server.requests[:]
    assert client(server, tmp_path).repository("lab/tides") == first
    assert server.requests == []
    assert "GITHUB_TOKEN" in client(server, tmp_path).limits


def test_a_limit_that_is_used_up(server: Scholarly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = server.clock = TurnedClock()
    server.limit = 0
    with pytest.raises(BusyError, match=r"asks clients to wait 3[56]\d\d seconds.*set GITHUB_TOKEN"):
        client(server, tmp_path, clock).repository("lab/tides")
    assert clock.pauses == []
    server.reset = 20
    with pytest.raises(InputError, match="it returned status 403"):
        client(server, tmp_path, clock).repository("lab/tides")
    assert all(15 < wait <= 21 for wait in clock.pauses)
    monkeypatch.setenv("GITHUB_TOKEN", "t0ken")
    server.reset = 3600
    with pytest.raises(BusyError) as raised:
        client(server, tmp_path).repository("lab/tides")
    assert "set GITHUB_TOKEN" not in str(raised.value)


@pytest.mark.parametrize("fault", [status(500), status(429, Retry_After="7"), status(403, Retry_After="7"), cut])
def test_what_passes_is_waited_for(server: Scholarly, tmp_path: Path, fault: object) -> None:
    clock = TurnedClock()
    server.faults.append(("/github", fault))  # type: ignore[arg-type]
    assert client(server, tmp_path, clock).repository("lab/tides") is not None
    assert clock.pauses in ([0.0], [7.0])


@pytest.mark.parametrize(
    ("fault", "kind", "line"),
    [
        (says(b"<html>"), InputError, "does not respond like GitHub"),
        (says(b"[1, 2]"), InputError, "does not respond like GitHub"),
        (status(401), ConfigError, "rejects the token"),
        (status(403), InputError, "returned status 403"),
        (status(301, Location="http://elsewhere.example.org/x"), UnsafeInputError, "redirects to another host"),
        (status(302, Location="file:///etc/passwd"), UnsafeInputError, "redirects to another host"),
    ],
    ids=["a page", "another value", "a bad token", "forbidden", "another host", "a file"],
)
def test_what_does_not_pass_is_one_line(
    server: Scholarly, tmp_path: Path, fault: object, kind: type[Exception], line: str
) -> None:
    server.faults += [("/github", fault)] * 9  # type: ignore[list-item]
    with pytest.raises(kind, match=line) as raised:
        client(server, tmp_path).repository("lab/tides")
    assert "\n" not in str(raised.value)


def test_an_answer_without_end(server: Scholarly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(github, "_LARGEST", 2_000_000)
    server.faults.append(("/github", without_end(50_000_000)))
    with pytest.raises(UnsafeInputError, match="more than 2 MB"):
        client(server, tmp_path).repository("lab/tides")


def test_the_token_goes_to_no_other_host(server: Scholarly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "t0ken")
    client(server, tmp_path).repository("lab/tides")
    assert "t0ken" not in "".join(path.read_text() for path in (tmp_path / "answers").iterdir())


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("github.com/a/b.git", "a/b"),
        ("http://www.github.com/A/b/tree/main", "A/b"),
        ("https://github.com/a", None),
        ("https://github.com/topics/b", None),
        ("https://gitlab.com/a/b", None),
        ("https://github.com.example.org/a/b", None),
    ],
)
def test_names(url: str, name: str | None) -> None:
    assert github_name(url) == name
