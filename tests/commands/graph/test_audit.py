import json
import shutil
from pathlib import Path

import pytest

from tests.build.repositories import git_server
from tests.build.repositories.test_checkout import committed, git
from tests.command import run
from tests.conftest import EXAMPLE, EXAMPLE_ID
from xkg.commands.build import build
from xkg.commands.graph.audit import audit
from xkg.config import EnvironmentSettings, LlmSettings, Settings
from xkg.errors import InputError


def settings(folder: Path) -> Settings:
    return Settings(kg=folder, llm=LlmSettings(model="none"), environment=EnvironmentSettings(max_mb=0))


def listed(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "blacklist.txt"
    path.write_text("\n".join(lines))
    return path


def test_a_graph_without_anything_of_it_is_clean(published: Path, tmp_path: Path) -> None:
    result = audit(settings(published), listed(tmp_path, "2402.99999", "A Title That No Paper Of This Graph Has"))
    assert result.clean
    assert result.papers == 5
    assert result.code > 0
    assert "nothing from the blacklist was found in 5 papers" in str(result)


def test_a_log_of_answers(published: Path, tmp_path: Path) -> None:
    log = tmp_path / "answers.jsonl"
    answers = [
        {"text": "see https://github.com/Owner/Held-Out/blob/main/x.py"},
        {"text": "nothing here, owner/held-out-too is another"},
        {"text": "as in Sampling of Tides by the Moon's Weight"},
    ]
    log.write_text("\n".join(json.dumps(answer) for answer in answers))
    blacklist = listed(tmp_path, "https://github.com/owner/held-out", "Sampling of tides by the moon's weight")
    result = audit(settings(published), blacklist, [log])
    assert [f.where for f in result.findings] == [f"{log}:1", f"{log}:3"]
    assert result.lines == 3
    with pytest.raises(InputError, match="cannot be read"):
        audit(settings(published), blacklist, [tmp_path / "missing.log"])


def a_repository(folder: Path, **files: str) -> Path:
    usual = {name: f"def {name}(x):\n    return x + 1  # {name * 30}\n" for name in ("one", "two", "three", "four")}
    return committed(folder, {f"{name}.py": text for name, text in (usual | files).items()})


def test_a_mirror_of_a_blacklisted_repository_is_kept_out_and_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with git_server.serving(monkeypatch) as server:
        held_out = server.add(a_repository(tmp_path / "held", own="def a():\n    return 5  # " + "a" * 90), "lab/held")
        mirror = server.add(a_repository(tmp_path / "mirror", own="def b():\n    return 6  # " + "b" * 90), "else/copy")
        apart = server.add(committed(Path(shutil.copytree(EXAMPLE / "code", tmp_path / "apart")), {}), "else/apart")
        blacklist = listed(tmp_path, held_out)
        chosen = settings(tmp_path / "graph")
        for refused, reason in ((held_out, "the blacklist contains"), (mirror, "is a copy of")):
            with pytest.raises(InputError, match=reason):
                build(chosen, EXAMPLE / "paper", refused, paper_id=EXAMPLE_ID, blacklist=blacklist)
        build(chosen, EXAMPLE / "paper", apart, paper_id=EXAMPLE_ID, blacklist=blacklist)
        assert audit(chosen, blacklist).clean
        build(chosen, EXAMPLE / "paper", mirror, paper_id=EXAMPLE_ID)
        found = audit(chosen, blacklist).findings
        assert [(f.where, f.kind) for f in found] == [(EXAMPLE_ID, "copy")]
        assert "4 of 5 files are identical" in found[0].what or "start with commit" in found[0].what


def test_a_build_of_a_blacklisted_repository_is_refused_before_any_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with git_server.serving(monkeypatch) as server:
        port = server.url.rpartition(":")[2]
        held_out = server.add(a_repository(tmp_path / "held"), "lab/held")
        blacklist = listed(tmp_path, held_out)
        chosen = settings(tmp_path / "graph")
        spellings = [
            f"{server.url}/lab/held.git", f"{server.url}/lab/./held", f"{server.url}/lab/%68eld",
            f"{server.url}/LAB/Held",
            f"{server.url}//lab//held/", f"{server.url}/x/../lab/held", f"{server.url}/lab%2Fheld",
            f"{server.url}/lab/held@main",
            f"https://localhost.:{port}/lab/held", f"https://LOCALHOST:{port}/lab/held",
            f"https://%6cocalhost:{port}/lab/held",
            f"https://user@localhost:{port}/lab/held", f"{server.url}/lab/held?x#y", f"{server.url}/lab/held/tree/main",
            f"http://localhost:{port}/lab/held", f"https://ｌｏｃａｌｈｏｓｔ:{port}/lab/held",
        ]  # fmt: skip
        for spelling in spellings:
            with pytest.raises(InputError, match="the blacklist contains"):
                build(chosen, EXAMPLE / "paper", spelling, paper_id=EXAMPLE_ID, blacklist=blacklist)
        assert server.asked == []
        on_github = listed(tmp_path, "github.com/lab/held")
        folder = a_repository(tmp_path / "clone")
        git(folder, "remote", "add", "origin", "git@github.com:lab/held.git")
        with pytest.raises(InputError, match="the blacklist contains"):
            build(
                chosen,
                EXAMPLE / "paper",
                str(folder),
                paper_id=EXAMPLE_ID,
                blacklist=on_github,
            )


def test_spellings_in_a_log(published: Path, tmp_path: Path) -> None:
    log = tmp_path / "answers.txt"
    log.write_text(
        "see https://github.com:443/Owner/%48eld-Out.\nin git@github.com:owner/./held-out.git\n"
        "arXiv:2402.17135v2 has it\nas doi.org/10.48550/arXiv.2402.17135\nhttps://github.com/owner/held\n2402.171350\n"
    )
    result = audit(settings(published), listed(tmp_path, "github.com/owner/held-out", "2402.17135"), [log])
    assert [f.where for f in result.findings] == [f"{log}:{number}" for number in (1, 2, 3, 4)]


def test_what_cannot_be_compared_is_not_called_clean(published: Path, tmp_path: Path) -> None:
    result = audit(settings(published), listed(tmp_path, "https://localhost:9/lab/held"))
    assert not result.findings
    assert not result.clean
    assert any("copies of localhost:9/lab/held cannot be recognised" in line for line in result.unchecked)


def test_the_command_fails_where_something_is_found(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"--kg={published}", "check-blacklist", listed(tmp_path, "1608.04471"), "--json") == 1
    assert json.loads(capsys.readouterr().out)["findings"]
