from pathlib import Path

import pytest

from tests.command import run


@pytest.mark.parametrize(
    ("client", "folder"), [("claude-code", ".claude"), ("codex", ".agents"), ("cursor", ".agents")]
)
def test_a_skill_is_written_beside_the_entry_and_builds_are_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], client: str, folder: str
) -> None:
    install = ("--kg", tmp_path / "kg", "mcp", "install", client, "--project", tmp_path, "--skill", "--write")
    assert run(*install) == 0
    skill = tmp_path / folder / "skills" / "xkg-build" / "SKILL.md"
    text = skill.read_text("utf-8")
    assert text.startswith("---\nname: xkg-build\ndescription: ")
    assert all(word in text for word in ('llm="caller"', "questions", "answer_schema", "job_status"))
    entry = next(path for path in (".mcp.json", ".codex/config.toml", ".cursor/mcp.json") if (tmp_path / path).exists())
    assert "--allow-build" in (tmp_path / entry).read_text("utf-8")
    capsys.readouterr()
    assert run(*install) == 0
    assert f"{skill}: is there already" in capsys.readouterr().out


def test_a_skill_is_shown_and_never_written_through_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    (project / ".claude").symlink_to(elsewhere)
    install = ("--kg", tmp_path / "kg", "mcp", "install", "claude-code", "--project", project, "--skill")
    assert run(*install) == 0
    assert "name: xkg-build" in capsys.readouterr().out
    assert run(*install, "--write") != 0
    assert "a link to a file outside" in capsys.readouterr().err
    assert not list(elsewhere.iterdir())
