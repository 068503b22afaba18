"""Tests where the key is sent, and that it is never sent elsewhere."""

import logging
import socket
import traceback
from pathlib import Path
from typing import Any

import pytest

from tests.llm.desk import ask
from tests.llm_endpoint import ScriptedEndpoint, status
from xkg.config import LlmSettings
from xkg.errors import ConfigError, ModelUnavailableError
from xkg.llm.chat_completions import ChatCompletions
from xkg.llm.client import LanguageModel
from xkg.llm.credentials import access
from xkg.llm.endpoint import Reply, Request

KEY = "sk-never-to-be-seen-0123456789"
MESSAGES = [{"role": "system", "content": "You."}, {"role": "user", "content": "Say."}]


def key_sent(endpoint: ScriptedEndpoint, settings: LlmSettings) -> str:
    endpoint.answers.append("{}")
    reached = ChatCompletions(access(settings), seconds=20)
    try:
        reached.complete(Request("m", MESSAGES, {"type": "object"}))
    finally:
        reached.close()
    return endpoint.keys[-1]


def test_each_key_goes_where_it_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedEndpoint() as endpoint:
        by_settings, by_environment = LlmSettings(base_url=endpoint.url), LlmSettings()
        assert key_sent(endpoint, by_settings) == "Bearer none"
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_ADMIN_KEY", KEY)
        assert key_sent(endpoint, by_settings) == "Bearer none", "a settings file alone sends no key anywhere"
        monkeypatch.setenv("OPENAI_BASE_URL", f"{endpoint.url}/")
        assert key_sent(endpoint, by_environment) == f"Bearer {KEY}"
        assert key_sent(endpoint, by_settings) == f"Bearer {KEY}", "the environment names this address too"
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url.replace("/v1", "/v2"))
        assert key_sent(endpoint, by_settings) == "Bearer none"
        monkeypatch.setenv("XKG_LLM_KEY", "sk-own")
        assert key_sent(endpoint, by_settings) == "Bearer sk-own"


def test_openai_is_asked_where_nothing_else_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert (access(LlmSettings()).at, access(LlmSettings()).key) == ("api.openai.com", KEY)
    assert KEY not in repr(access(LlmSettings()))
    assert not access(LlmSettings(base_url="http://api.openai.com/v1")).key, "nor in the clear"
    monkeypatch.setenv("XKG_LLM_KEY", "sk-own")
    assert access(LlmSettings()).key == "sk-own"


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-\u201c", "sk-\x1b[0m"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XKG_LLM_KEY", key)
    with pytest.raises(ConfigError, match="XKG_LLM_KEY") as caught:
        access(LlmSettings())
    assert "sk-" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("url", ["localhost:80", "ftp://host/v1", f"https://u:{KEY}@host/v1", "http://"])
def test_a_malformed_address_of_the_environment_is_named_not_shown(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL") as caught:
        access(LlmSettings())
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("code", [400, 401, 429])
def test_no_error_log_or_file_holds_the_key(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("XKG_LLM_KEY", KEY)
    answer: Any = status(code, f"You sent {KEY}", "insufficient_quota" if code == 429 else "")
    with (
        ScriptedEndpoint(lambda _: answer) as endpoint,
        LanguageModel(LlmSettings(base_url=endpoint.url), tmp_path, patience=0.1) as model,
        pytest.raises(ModelUnavailableError) as caught,
    ):
        ask(model)
    assert endpoint.keys[-1] == f"Bearer {KEY}"
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert caplog.records
    assert KEY not in caplog.text
    for path in tmp_path.iterdir():
        assert KEY.encode() not in path.read_bytes()


def test_an_endpoint_that_never_answered_and_refuses_is_not_waited_for(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with (
            LanguageModel(LlmSettings(base_url=url), tmp_path, patience=1e9) as model,
            pytest.raises(ModelUnavailableError, match=r"nothing is listening at .* correct llm\.base_url"),
        ):
            ask(model)


def test_a_closed_endpoint_is_asked_nothing() -> None:
    with ScriptedEndpoint(["{}"]) as endpoint:
        reached = ChatCompletions(access(LlmSettings(base_url=endpoint.url)), seconds=20)
        assert isinstance(reached.complete(Request("m", MESSAGES, {})), Reply)
        reached.close()
        reached.close()
        with pytest.raises(ModelUnavailableError, match="closed"):
            reached.complete(Request("m", MESSAGES, {}))
    assert len(endpoint.requests) == 1
