import json
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from xkg.errors import CorruptStoreError, InputError
from xkg.serve.http.tokens import Tokens, lifetime, scopes_of


def test_a_token_is_found_by_its_secret_alone_and_only_its_hash_is_kept(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "kg")
    secret = tokens.create("laptop", ("read", "build"))
    found = tokens.find(secret)
    assert found is not None
    assert (found.name, found.scopes) == ("laptop", ("read", "build"))
    assert tokens.find(secret[:-1]) is None
    assert tokens.find(found.sha256) is None
    assert tokens.find("xkg_\udcff") is None
    stored = (tmp_path / "kg" / "tokens.json").read_text()
    assert secret not in stored
    assert secret.removeprefix("xkg_") not in stored


def test_nobody_else_on_the_machine_can_read_the_file(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    tokens.create("a")
    tokens.create("b")
    assert stat.S_IMODE((tmp_path / "tokens.json").stat().st_mode) == 0o600


def test_a_token_ends_at_its_time(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    assert tokens.find(tokens.create("short", expires=timedelta(microseconds=1))) is None
    assert tokens.find(tokens.create("long", expires=timedelta(days=90))) is not None


def test_a_name_is_free_again_once_its_token_is_not_valid(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    first = tokens.create("laptop")
    with pytest.raises(InputError, match="revoke it first"):
        tokens.create("laptop")
    tokens.revoke("laptop")
    with pytest.raises(InputError, match="no token 'laptop'"):
        tokens.revoke("laptop")
    second = tokens.create("laptop")
    assert (tokens.find(first), tokens.find(second) is not None) == (None, True)
    assert len(tokens.all()) == 1


@pytest.mark.parametrize("name", ["", "a b", "../x", "a\n", "é", "x" * 65, "-a"])
def test_a_name_is_a_plain_word(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        Tokens(tmp_path).create(name)


@pytest.mark.parametrize("content", ["", "{}", "[1]", '[{"name": "a"}]', "\x00"])
def test_a_damaged_file_lets_nobody_in(tmp_path: Path, content: str) -> None:
    tokens = Tokens(tmp_path)
    secret = tokens.create("laptop")
    (tmp_path / "tokens.json").write_text(content)
    for ask in (lambda: tokens.find(secret), tokens.all, lambda: tokens.create("other"), lambda: tokens.revoke("a")):
        with pytest.raises(CorruptStoreError, match="all access is denied"):
            ask()


def test_tokens_that_are_made_side_by_side_are_all_kept(tmp_path: Path) -> None:
    program = "import sys; from pathlib import Path; from xkg.serve.http.tokens import Tokens\n"
    program += "for n in range(10): Tokens(Path(sys.argv[1])).create(f'{sys.argv[2]}{n}')"
    makers = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in ("a", "b")]
    assert [maker.wait(60) for maker in makers] == [0, 0]
    assert len(json.loads((tmp_path / "tokens.json").read_text())) == 20


def test_times_to_live_and_scopes_are_read() -> None:
    assert (lifetime("90d"), lifetime("12h")) == (timedelta(days=90), timedelta(hours=12))
    for wrong in ("", "90", "0d", "-1d", "100000w", "1y", "१d"):
        with pytest.raises(InputError):
            lifetime(wrong)
    assert datetime.now(UTC) - lifetime("99999w") < datetime.now(UTC) + lifetime("99999w")
    assert scopes_of(["build", "read", "read"]) == ("read", "build")
    with pytest.raises(InputError, match="not a scope"):
        scopes_of(["write"])
