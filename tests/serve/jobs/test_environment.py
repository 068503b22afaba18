import os

import pytest

from xkg.config import EmbeddingSettings, LlmSettings, Settings, StoreSettings
from xkg.serve.jobs.jobs import job_environment

KEYS = "XKG_LLM_KEY OPENAI_API_KEY XKG_EMBEDDING_KEY NEO4J_PASSWORD AWS_SECRET_ACCESS_KEY GITHUB_TOKEN".split()
NONE = LlmSettings(model="none")


@pytest.mark.parametrize(
    ("settings", "given"),
    [
        (Settings(llm=NONE), set()),
        (Settings(llm=LlmSettings(model="o4-mini")), {"XKG_LLM_KEY", "OPENAI_API_KEY"}),
        (
            Settings(llm=NONE, embedding=EmbeddingSettings(provider="openai", model="m")),
            {"XKG_EMBEDDING_KEY", "OPENAI_API_KEY"},
        ),
        (Settings(llm=NONE, store=StoreSettings(url="neo4j://localhost")), {"NEO4J_PASSWORD"}),
    ],
)
def test_a_build_has_the_keys_of_what_it_uses(
    settings: Settings, given: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*KEYS, "XKG_SERVE__OAUTH__ISSUER", "XKG_PRUNE__MIN_LEVEL", "https_proxy", "LD_PRELOAD"):
        monkeypatch.setenv(name, "x")
    environment = job_environment(settings)
    assert environment.keys() & set(KEYS) == given
    assert {"PATH", "XKG_PRUNE__MIN_LEVEL", "https_proxy"} <= environment.keys()
    assert not {"XKG_SERVE__OAUTH__ISSUER", "LD_PRELOAD"} & environment.keys()
    assert environment["PATH"] == os.environ["PATH"]
