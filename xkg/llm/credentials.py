"""Finds the language model's address and key.

The key is read from `XKG_LLM_KEY`. For OpenAI's own service, and for the address in `OPENAI_BASE_URL`, `OPENAI_API_KEY`
also works."""

import os

from xkg import openai_server
from xkg.config import OPENAI_URL, LlmSettings, plain_url
from xkg.errors import ConfigError, MissingKeyError
from xkg.openai_server import Access, is_openai


def access(settings: LlmSettings, without_key: str = "") -> Access:
    """Returns the language model's address and key. Raises `MissingKeyError` if there is no key for OpenAI's own
    service. The error message includes `without_key`, which tells the user what to do. Raises `ConfigError` if the key
    or address is invalid."""
    environment_url = _environment_url()
    base_url = settings.base_url or environment_url or OPENAI_URL
    server = openai_server.access("llm", base_url, "XKG_LLM_KEY", [environment_url] if environment_url else ())
    if not server.key and is_openai(base_url):
        raise MissingKeyError(
            f"no API key for the language model ({settings.model} at {server.at}); set {server.variables}"
            + f" ({without_key})" * bool(without_key)
        )
    return server


def _environment_url() -> str | None:
    url = os.environ.get("OPENAI_BASE_URL", "").strip()
    if not url:
        return None
    try:
        return plain_url(url)
    except ValueError as error:
        raise ConfigError(f"the environment variable OPENAI_BASE_URL is not an address: {error}") from None
