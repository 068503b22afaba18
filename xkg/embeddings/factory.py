"""The embedder that the settings choose."""

from xkg.config import EmbeddingSettings
from xkg.embeddings.base import Embedder


def make_embedder(settings: EmbeddingSettings, *, queries: bool = False) -> Embedder:
    """The embedder that the settings choose; its `model` is `settings.vectors`. With `queries`, one that is faster and
    whose vectors are for comparing, not for storing, where the provider has such. Only that provider's libraries are
    imported. Raises `EmbeddingError` where they, weights or a key are missing; nothing is sent anywhere yet."""
    if settings.provider == "openai":
        from xkg.embeddings.openai import OpenAIEmbedder

        return OpenAIEmbedder(settings.model, settings.base_url)
    if settings.provider == "sentence-transformers":
        from xkg.embeddings.sentence_transformers import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(settings.model, settings.weights, settings.threads)
    from xkg.embeddings.onnx import OnnxEmbedder

    return OnnxEmbedder(settings.weights, settings.model, settings.threads, eight_bits=queries)
