import os
from pathlib import Path

import pytest

from xkg.config import load
from xkg.errors import ConfigError
from xkg.model import Level


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("XKG_SANDBOX__SECONDS", "XKG_ENVIRONMENT__MAX_MB"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_flags_win_over_the_environment_and_that_over_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "xkg.yaml").write_text("kg: file\nsandbox: {seconds: 1, memory_mb: 100}\nprune: {min_level: parsed}\n")
    assert load().kg == Path("file")
    monkeypatch.setenv("XKG_KG", "environment")
    monkeypatch.setenv("XKG_SANDBOX__SECONDS", "2")
    settings = load()
    assert settings.kg == Path("environment")
    assert (settings.sandbox.seconds, settings.sandbox.memory_mb) == (2, 100)
    assert settings.prune.min_level is Level.PARSED
    assert load(kg="flag", sandbox=None).kg == Path("flag")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("kgg: x\n", "'kgg'"),
        ("sandbox: {seconds: 0}\n", "'sandbox.seconds'"),
        ("prune: {min_level: verified}\n", "'prune.min_level'"),
        ("sandbox: 3\n", "sandbox is a section"),
        ("zzzz: 1\n", "settings.md lists all settings"),
        ("!!python/object/apply:os.system [id]", "xkg.yaml"),
        ("kg: [unclosed\n", "xkg.yaml"),
        ("- a list\n", "xkg.yaml"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_in_one_line(folder: Path, text: str, named: str) -> None:
    (folder / "xkg.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load()
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_one_underscore_in_place_of_two_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XKG_LLM_BASE_URL", "http://127.0.0.1:9")
    with pytest.raises(ConfigError, match="use two underscores: XKG_LLM__BASE_URL"):
        load()


@pytest.mark.parametrize(("name", "value"), [("XKG_SANDBOX__SEKONDS", "3"), ("XKG_SANDBOX", "{not json")])
def test_an_unknown_or_malformed_variable_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        load()
    assert "sandbox" in str(caught.value).lower()
    assert "\n" not in str(caught.value)


def test_a_section_that_there_is_not_is_refused_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XKG_SANDBOXX__SECONDS", "3")
    with pytest.raises(ConfigError, match=r"'sandboxx\.seconds'; the closest is sandbox\.seconds"):
        load()


def test_hosts_and_origins_are_given_as_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XKG_SERVE__HTTP__HOSTS", "kg.example.org, kg")
    assert load().serve.http.hosts == ("kg.example.org", "kg")
    assert "github.com" in load().serve.build.hosts
    monkeypatch.setenv("XKG_SERVE__BUILD__HOSTS", "git.example.org, github.com")
    assert load().serve.build.hosts == ("git.example.org", "github.com")


@pytest.mark.parametrize("issuer", ["http://login.example.org", "http://127.0.0.1.example.org"])
def test_an_issuer_is_never_asked_in_the_clear(monkeypatch: pytest.MonkeyPatch, issuer: str) -> None:
    monkeypatch.setenv("XKG_SERVE__OAUTH__ISSUER", issuer)
    with pytest.raises(ConfigError, match=r"serve\.oauth\.issuer"):
        load()
    monkeypatch.setenv("XKG_SERVE__OAUTH__ISSUER", "http://127.0.0.1:8080/realm")
    assert load().serve.oauth.issuer == "http://127.0.0.1:8080/realm"


def test_a_file_of_a_repository_cannot_give_up_the_sandbox(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "xkg.yaml").write_text("sandbox: {runner: unsafe-subprocess}\n")
    with pytest.raises(ConfigError, match="cannot turn off the sandbox"):
        load()
    (folder / "xkg.yaml").write_text("sandbox: {seconds: 5}\n")
    monkeypatch.setenv("XKG_SANDBOX__RUNNER", "unsafe-subprocess")
    assert load().sandbox.runner == "unsafe-subprocess"


def test_the_settings_of_another_user_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "xkg.yaml").write_text("kg: theirs\n")
    if os.geteuid() == 0:
        os.chown(folder / "xkg.yaml", 12345, 12345)
    else:  # without the right to change the owner, change the current user instead
        monkeypatch.setattr("xkg.config.os.geteuid", lambda: 12345)
    with pytest.raises(ConfigError, match="another user"):
        load()


@pytest.mark.parametrize("line", ["a b", "x @ https://a.example/x.whl", "transformers[torch]"])
def test_a_package_is_named_by_a_requirement_of_the_index(line: str) -> None:
    assert load(environment={"packages": ["h5py>=3"]}).environment.packages == ("h5py>=3",)
    with pytest.raises(ConfigError, match=r"environment\.packages"):
        load(environment={"packages": [line]})
