"""Selects the environment variables that a client's build inherits from the server.

The server's environment may contain unrelated keys, so a build only inherits the variables that it needs: the variables
for the services in its settings, for proxies and for cache folders."""

import os
from collections.abc import Mapping

from xkg.config import LlmSettings, Settings
from xkg.llm.endpoints import uses_server
from xkg.llm.prices import models_of
from xkg.llm.programs.known import PLAIN_VARIABLES, program_of

# UV_ and PIP_ variables configure the package index and its credentials.
_PREFIXES = ("LC_", "XDG_", "XKG_", "UV_", "PIP_", "HF_", "PYTHON", "OMP_", "MKL_", "OPENBLAS_", "CUDA_", "NVIDIA_")
_LLM = frozenset(("XKG_LLM_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"))
_EMBEDDING = frozenset(("XKG_EMBEDDING_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"))
_STORE = frozenset(("NEO4J_USERNAME", "NEO4J_PASSWORD"))


def job_environment(settings: Settings) -> Mapping[str, str]:
    """Returns the environment variables that a build with these settings needs."""
    services = frozenset[str]()
    services |= _LLM if settings.llm.model != "none" and uses_server(settings.llm) else frozenset()
    services |= _EMBEDDING if settings.embedding.provider == "openai" else frozenset()
    services |= _STORE if settings.store.url is not None else frozenset()
    keys = _LLM | _EMBEDDING | _STORE

    def needed(name: str) -> bool:
        if name in keys:
            return name in services
        beginnings = (*_PREFIXES, *_programs(settings.llm))
        return name in PLAIN_VARIABLES or (name.startswith(beginnings) and not name.startswith("XKG_SERVE__"))

    return {name: value for name, value in os.environ.items() if needed(name.upper())}


def _programs(settings: LlmSettings) -> tuple[str, ...]:
    """Returns the prefixes of variables that agent programs inherit."""
    known = filter(None, map(program_of, sorted(models_of(settings))))
    return tuple(beginning for program, _ in known for beginning in program.inherits)
