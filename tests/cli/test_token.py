import json
from pathlib import Path

import pytest

from tests import command


def run(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> tuple[int, str, str]:
    return command.run("--kg", folder, "token", *arguments), *capsys.readouterr()


def test_from_creating_a_token_to_revoking_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        capsys, tmp_path, "create", "laptop", "--scope", "build", "--scope", "read", "--expires", "90d"
    )
    secret = out.strip()
    assert (code, out.count("\n")) == (0, 1)
    assert secret.startswith("xkg_")
    assert "Bearer" in err
    code, out, _ = run(capsys, tmp_path, "list")
    assert code == 0
    assert out.split()[:3] == ["laptop", "valid", "read,build"]
    _, out, _ = run(capsys, tmp_path, "list", "--json")
    (listed,) = json.loads(out)
    assert (listed["name"], listed["state"], listed["scopes"]) == ("laptop", "valid", ["read", "build"])
    assert secret not in out
    assert "sha256" not in out
    assert run(capsys, tmp_path, "revoke", "laptop")[0] == 0
    assert "revoked" in run(capsys, tmp_path, "list")[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("create", "a b"), "not a valid token name"),
        (("create", "a", "--scope", "write"), "not a scope"),
        (("create", "a", "--expires", "soon"), "90d"),
        (("revoke", "nobody"), "no token"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    code, out, err = run(capsys, tmp_path, *arguments)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert words in err
    assert not (tmp_path / "tokens.json").exists()
