"""Creates the configured embedder."""

from xkg.config import EmbeddingSettings
from xkg.embeddings.base import Embedder


def make_embedder(settings: EmbeddingSettings) -> Embedder:
    """Returns the configured embedder. The embedder's `model` is `settings.vectors`. Imports only the provider's
    libraries, and does not send any texts yet. Raises `EmbeddingError` if libraries, weights or a key are missing."""
    if settings.provider == "openai":
        from xkg.embeddings.openai import OpenAIEmbedder

        return OpenAIEmbedder(settings.model, settings.base_url)
    if settings.provider == "sentence-transformers":
        from xkg.embeddings.sentence_transformers import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(settings.model, settings.weights, settings.threads)
    from xkg.embeddings.onnx import OnnxEmbedder

    return OnnxEmbedder(settings.weights, settings.model, settings.threads)
