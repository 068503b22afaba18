"""Checks that a release has valid links, consistent names, and a tag with notes."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from hatch_build import absolute, registry_name
from scripts.release import tag
from scripts.release.bundle import manifest, semantic, server_json
from tests.conftest import ROOT

REPOSITORY = "https://github.com/owner/xkg"


def test_links_of_the_readme_lead_to_files_of_the_repository() -> None:
    text = absolute((ROOT / "README.md").read_text(), REPOSITORY, "v1.2.3")
    links = re.findall(rf"\]\({REPOSITORY}/(blob|raw)/v1\.2\.3/([^)#]+)", text)
    assert len(links) > 40
    assert [path for _, path in links if not (ROOT / path).exists()] == []
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", text) == []
    assert ("raw", "docs/images/xkg.svg") in links


def test_the_registry_is_told_what_it_takes() -> None:
    told = server_json("1.2.3", REPOSITORY, "0" * 64)
    assert told["name"] == registry_name(REPOSITORY) == "io.github.owner/xkg"
    assert len(told["description"]) <= 100
    assert {package["version"] for package in told["packages"]} == {"1.2.3"}
    assert "${user_config.graph}" in manifest("1.2.3", [], "")["server"]["mcp_config"]["args"]
    assert semantic("0.1.1.dev1500+g97ff987f8") == "0.1.1-dev.1500"


def test_the_plugin_starts_the_server_and_its_files_are_json() -> None:
    plugin = ROOT / "plugin"
    assert json.loads((plugin / ".mcp.json").read_text())["mcpServers"]["xkg"]["args"] == ["serve"]
    (entry,) = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text())["plugins"]
    named = json.loads((plugin / ".claude-plugin/plugin.json").read_text())["name"]
    assert (entry["name"], (ROOT / entry["source"]).resolve()) == (named, plugin)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, value in {"NAME": "A", "EMAIL": "a@example.org"}.items():
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changes\n\n## 0.2.0, not released\n\n- B is new.\n\n## 0.1.0, 2026-01-01\n\n- A.\n"
    )
    (tmp_path / ".gitignore").write_text("dist/\n")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    git("tag", "v0.1.0")
    return tmp_path


def git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def test_a_release_is_dated_and_tagged_with_its_notes(clone: Path) -> None:
    tag.main("0.2.0")
    assert "B is new." in git("tag", "--list", "--format=%(contents)", "v0.2.0")
    assert (clone / "dist/notes.md").read_text() == "- B is new.\n"
    assert re.search(r"^## 0\.2\.0, \d{4}-\d\d-\d\d$", (clone / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert git("describe", "--tags", "--exact-match").strip() == "v0.2.0"


@pytest.mark.parametrize(
    ("version", "why"),
    [("", "no version"), ("0.2", "no version"), ("0.1.0", "not above 0.1.0"), ("0.3.0", "no section")],
)
def test_a_release_that_cannot_be_is_refused(clone: Path, version: str, why: str) -> None:
    with pytest.raises(SystemExit, match=why):
        tag.main(version)
    assert git("tag", "--list").split() == ["v0.1.0"]
    (clone / "other").write_text("")
    with pytest.raises(SystemExit, match=r"not committed|no version"):
        tag.main(version)
