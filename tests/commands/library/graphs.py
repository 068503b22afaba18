"""Creates graphs that push to and pull from a library. All vectors are stored, because embedding is disabled."""

from collections.abc import Sequence
from pathlib import Path

from tests.store.graphs import FakeHashEmbedder
from xkg.config import EmbeddingSettings, LlmSettings, Settings
from xkg.embeddings.cache import CachedEmbedder
from xkg.model import PaperBundle
from xkg.store.local.store import EmbeddedStore

MODEL = FakeHashEmbedder().model


def settings_of(kg: Path) -> Settings:
    return Settings(kg=kg, llm=LlmSettings(model="none"), embedding=EmbeddingSettings(model=MODEL))


def graph(kg: Path, papers: Sequence[PaperBundle]) -> Settings:
    """Returns the settings of a graph with these papers."""
    with CachedEmbedder(FakeHashEmbedder, kg / "embeddings.sqlite", MODEL) as embedder:
        store = EmbeddedStore(kg, lambda: embedder)
        store.publish(papers)
        store.close()
    return settings_of(kg)
