"""Where the language model is, and with which key it is asked.

The key is `XKG_LLM_KEY` of the environment. `OPENAI_API_KEY` is used for OpenAI's own service, and for the address that
the environment's `OPENAI_BASE_URL` names: a settings file that names another server must not be enough to send it
there. No key is part of a setting, a log line or an error.
"""

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from xkg.config import OPENAI_URL, LlmSettings, plain_url
from xkg.errors import ConfigError, ModelUnavailableError


@dataclass(frozen=True)
class Access:
    """Where the endpoint is, and with which key; none where it is empty."""

    base_url: str
    key: str = field(repr=False)

    @property
    def at(self) -> str:
        return urlsplit(self.base_url).netloc

    @property
    def variables(self) -> str:
        """The variables of the environment that may hold the key."""
        return "OPENAI_API_KEY or XKG_LLM_KEY" if _takes_openai_key(self.base_url) else "XKG_LLM_KEY"


def access(settings: LlmSettings) -> Access:
    """Raises `ModelUnavailableError` where OpenAI's own service has no key, `ConfigError` where key or address cannot
    be used."""
    base_url = settings.base_url or _environment_url() or OPENAI_URL
    key = os.environ.get("XKG_LLM_KEY", "").strip()
    if not key and _takes_openai_key(base_url):
        key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not key and _is_openai(base_url):
        raise ModelUnavailableError(
            f"no key for the language model ({settings.model} at {urlsplit(base_url).netloc}): set OPENAI_API_KEY or "
            "XKG_LLM_KEY (a build can do without one: `--llm none`)"
        )
    found = Access(base_url, key)
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the key of the environment holds characters that no key has: set {found.variables} again")
    return found


def _environment_url() -> str | None:
    url = os.environ.get("OPENAI_BASE_URL", "").strip()
    if not url:
        return None
    try:
        return plain_url(url)
    except ValueError as error:
        raise ConfigError(f"OPENAI_BASE_URL of the environment is no address: {error}") from None


def _is_openai(base_url: str) -> bool:
    return base_url.startswith("https:") and urlsplit(base_url).netloc == urlsplit(OPENAI_URL).netloc


def _takes_openai_key(base_url: str) -> bool:
    named = _environment_url()
    return _is_openai(base_url) or (named is not None and named.rstrip("/") == base_url.rstrip("/"))
