"""Where the language model is, and with which key it is asked.

The key is `XKG_LLM_KEY` of the environment, or `OPENAI_API_KEY` for OpenAI's own service and for the address that the
environment's `OPENAI_BASE_URL` names.
"""

import os

from xkg import openai_server
from xkg.config import OPENAI_URL, LlmSettings, plain_url
from xkg.errors import ConfigError, ModelUnavailableError
from xkg.openai_server import Access, is_openai


def access(settings: LlmSettings) -> Access:
    """Raises `ModelUnavailableError` where OpenAI's own service has no key, `ConfigError` where key or address cannot
    be used."""
    named = _environment_url()
    base_url = settings.base_url or named or OPENAI_URL
    found = openai_server.access("llm", base_url, "XKG_LLM_KEY", [named] if named else ())
    if not found.key and is_openai(base_url):
        raise ModelUnavailableError(
            f"no key for the language model ({settings.model} at {found.at}): set {found.variables} (a build can do "
            "without one: `--llm none`)"
        )
    return found


def _environment_url() -> str | None:
    url = os.environ.get("OPENAI_BASE_URL", "").strip()
    if not url:
        return None
    try:
        return plain_url(url)
    except ValueError as error:
        raise ConfigError(f"OPENAI_BASE_URL of the environment is no address: {error}") from None
