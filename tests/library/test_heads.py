import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.clock import TurnedClock
from tests.library.writers import change
from xkg.errors import UnsafeInputError
from xkg.library.heads import add, files_of, merged, note, open_head
from xkg.library.layout import HEAD
from xkg.library.open import open_place
from xkg.library.state import Seen


@pytest.mark.parametrize("rounds", [8, pytest.param(30, marks=pytest.mark.product("rare races", every=True))])
def test_two_processes_that_write_at_once_lose_no_entry(writable: str, rounds: int, tmp_path: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.library.writers", writable, str(tmp_path / name), name, str(rounds)]
        )
        for name in ("first", "second")
    ]
    assert [writer.wait() for writer in writers] == [0, 0]
    place = open_place(writable, tmp_path / "reader")
    head, files = open_head(place, None).head, files_of(place)
    written = {f"{name}-{number}" for name in ("first", "second") for number in range(rounds)}
    assert {row.paper for row in files.since(head, 0)} == written
    assert all(files.row(head, paper) is not None for paper in written)
    place.close()


def test_a_push_that_was_cut_off_at_any_step_is_done_by_the_next(writable: str, tmp_path: Path) -> None:
    place = open_place(writable, tmp_path)

    def cut_off(at: str) -> None:
        if at == step:
            raise KeyboardInterrupt

    with Seen(tmp_path, writable) as seen:
        for number, step in enumerate(("announcement", "index", "head")):
            new = [change(f"paper-{number}")]
            with pytest.raises(KeyboardInterrupt) if step != "announcement" or not place.atomic else nullcontext():
                add(place, new, seen, cut_off)
            add(place, new, seen)
        head, files = open_head(place, seen).head, files_of(place)
        assert {row.paper for row in files.since(head, 0)} == {"paper-0", "paper-1", "paper-2"}
    place.close()


def test_a_paper_that_changed_is_replaced_once(writable: str, tmp_path: Path) -> None:
    place = open_place(writable, tmp_path)
    first, second = change("paper", "a" * 64), change("paper", "b" * 64, seen=("a" * 64,))
    with Seen(tmp_path, writable) as seen:
        assert [add(place, [each], seen) for each in (first, second, second)] == [1, 1, 0]
        head, files = open_head(place, seen).head, files_of(place)
    assert [version.content[0] for row in files.find(head, "paper") for version in row.versions] == ["b"]
    assert head.entries == 2
    place.close()


def test_a_library_that_goes_back_or_tells_two_stories_is_refused(tmp_path: Path) -> None:
    place = open_place(str(tmp_path / "library"), tmp_path)
    with Seen(tmp_path / "writer", "x") as writer, Seen(tmp_path / "reader", "x") as reader:
        add(place, [change("one")], writer)
        old = (tmp_path / "library" / HEAD).read_bytes()
        add(place, [change("two")], writer)
        note(reader, open_head(place, reader))
        new = (tmp_path / "library" / HEAD).read_bytes()
        for shown in (old, new.replace(b'"entries":2', b'"entries":1')):
            (tmp_path / "library" / HEAD).write_bytes(shown)
            with pytest.raises(UnsafeInputError, match="was rolled back"):
                open_head(place, reader)


def test_a_signed_head_has_an_owner_and_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from xkg.attestations import keys, trust

    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "owner"))
    keys.make_key("lab")
    place, clock = open_place(str(tmp_path / "library"), tmp_path), TurnedClock()
    with Seen(tmp_path / "writer", "x") as writer, Seen(tmp_path / "reader", "x") as reader:
        add(place, [change("one")], writer, clock=clock)
        note(reader, opened := open_head(place, reader))
        assert opened.signer is not None
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other"))
        other = keys.make_key("mallory")
        with Seen(tmp_path / "fresh", "x") as fresh:
            add(place, [change("two")], fresh, clock=clock)
        with pytest.raises(UnsafeInputError, match="is signed by"):
            open_head(place, reader)
        trust.add(other, "mallory")
        assert open_head(place, reader).head.version == 2
        clock.turn(200 * 86400)
        with pytest.raises(UnsafeInputError, match="expired"):
            open_head(place, reader, clock)


def test_a_push_without_news_signs_a_library_once_there_is_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from xkg.attestations import keys

    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "owner"))
    place = open_place(str(tmp_path / "library"), tmp_path)
    with Seen(tmp_path / "writer", "x") as writer:
        add(place, [change("one")], writer)
        assert open_head(place, writer).signer is None
        keys.make_key("lab")
        assert add(place, [change("one")], writer) == 0
        assert open_head(place, writer).signer is not None


def test_a_version_that_its_writer_has_seen_is_replaced_and_another_is_kept() -> None:
    first = merged(None, change("p", "a" * 64))
    attested = merged(first, change("p", "a" * 64, holds=("0123456789abcdef",)))
    assert attested.versions[0].holds == {"0123456789abcdef"}
    own = merged(attested, change("p", "b" * 64, seen=("a" * 64,)))
    assert [version.content[0] for version in own.versions] == ["b"]
    assert own.versions[0].holds == {"0123456789abcdef"}  # the attested code may be unchanged
    theirs = merged(attested, change("p", "c" * 64))
    assert {version.content[0] for version in theirs.versions} == {"a", "c"}
