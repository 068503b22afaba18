"""Embeds text using a server that implements OpenAI's API: https://platform.openai.com/docs/api-reference/embeddings.

The key is read from `XKG_EMBEDDING_KEY` or, for OpenAI's own service, `OPENAI_API_KEY`."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xkg.clock import CLOCK, Clock
from xkg.config import OPENAI_URL
from xkg.errors import EmbeddingError, MissingExtraError
from xkg.openai_server import Patience, access, failure, is_openai
from xkg.text.unicode import encodable

_BATCH = 32  # the default limit of text-embeddings-inference (other servers accept more)
_CHARACTERS = 8000  # OpenAI rejects texts of more than 8,192 tokens
_MAX_BYTES = 64 << 20


class OpenAIEmbedder:
    """Returns unit vectors from `model` on the server at `base_url`. `Embedder.model` is `openai:<model>`.

    Sends 32 texts per request, one request at a time, and the first 8,000 characters of each text. Temporary failures
    (408, 409, 429, 5xx, a dropped or silent connection) are retried for at most `patience` seconds per request. Retries
    respect the pauses that the server requests. An attempt fails if the response is not complete after `timeout`
    seconds. Safe to call from several threads.

    The constructor raises `ConfigError` if the key contains characters that are not allowed in a header, and
    `EmbeddingError` if there is no key. Calls raise `EmbeddingError` if the server returns an error, does not respond,
    or does not return vectors of equal length."""

    def __init__(
        self,
        model: str,
        base_url: str = OPENAI_URL,
        *,
        patience: float = 60.0,
        timeout: float = 30.0,
        clock: Clock = CLOCK,
    ) -> None:
        self._access = server = access("embedding", base_url, "XKG_EMBEDDING_KEY")
        if is_openai(base_url) and not server.key:
            raise EmbeddingError(
                f"no key for {server.at}; set {server.variables}, or set embedding.base_url to a different server"
            )
        try:
            import openai
        except ModuleNotFoundError as error:
            raise EmbeddingError(str(MissingExtraError("llm", "embedding.provider openai"))) from error

        # This class handles retries, so the SDK must not retry.
        self._client = openai.OpenAI(api_key=server.sent_key, base_url=base_url, max_retries=0)
        self._requested = model
        self._at = server.at
        self._patience, self._timeout, self._clock = patience, timeout, clock
        self._dimension = 0
        self.model = f"openai:{model}"

    @property
    def dimension(self) -> int:
        """Returns the dimension of the vectors. The first call requests the vector of a single word to find the
        dimension."""
        if not self._dimension:
            self._vectors(["dimension"])
        return self._dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # OpenAI rejects empty text.
        readable = [encodable(text[:_CHARACTERS]) or " " for text in texts]
        batches = [self._vectors(readable[start : start + _BATCH]) for start in range(0, len(readable), _BATCH)]
        return np.concatenate(batches) if batches else np.empty((0, self.dimension), np.float32)

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        try:
            rows = _rows(self._answer(texts), len(texts))
            vectors = np.array(rows, np.float64)
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            raise EmbeddingError(
                f"{self._at} did not return a list of {len(texts)} embeddings; check embedding.base_url (it "
                "often ends in /v1) and embedding.model"
            ) from None
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise EmbeddingError(f"{self._at} returned a zero vector for {self._requested}; try another model")
        dimension = vectors.shape[1]
        if self._dimension and dimension != self._dimension:
            raise EmbeddingError(
                f"{self._at} returned {dimension} numbers for a text, but {self._dimension} before: a different model "
                f"is now running as {self._requested!a}; check that this is the model you want, then run the command "
                "again"
            )
        self._dimension = dimension
        result: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
        return result

    def _answer(self, texts: list[str]) -> bytes:
        """Returns the body of the response, after as many attempts as `patience` allows."""
        import httpx2
        import openai

        patience = Patience(self._patience, self._clock)
        while True:
            try:
                return self._attempt(texts, min(self._timeout, max(patience.left, 0.1)))
            except (openai.OpenAIError, httpx2.HTTPError, UnicodeError) as error:
                why = failure(error, self._access, self._requested)
            if not why.passes:
                raise EmbeddingError(why.line)
            pause = patience.pause(why.pause)
            if pause is None:
                raise EmbeddingError(patience.give_up(why.line, why.pause))
            self._clock.sleep(pause)

    def _attempt(self, texts: list[str], seconds: float) -> bytes:
        """Sends one request. The body is read in chunks, so a slow or endless body cannot block the call or exhaust
        memory."""
        import httpx2

        end = time.monotonic() + seconds
        body = bytearray()
        with self._client.embeddings.with_streaming_response.create(
            # Not all servers understand the SDK's default, base64.
            input=texts,
            model=self._requested,
            encoding_format="float",
            timeout=seconds,
        ) as response:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _MAX_BYTES:
                    raise EmbeddingError(f"{self._at} keeps sending data without end; check embedding.base_url")
                if time.monotonic() > end:
                    raise httpx2.ReadTimeout("the answer trickles")
        return bytes(body)


def _rows(body: bytes, count: int) -> list[list[float]]:
    """Returns the vectors in a response body, in the order of the texts. Raises `ValueError`, `KeyError` or `TypeError`
    if the body is malformed."""
    data: Any = json.loads(body)["data"]
    rows: dict[int, list[float]] = {}
    for item in data:
        row = item["embedding"]
        if not isinstance(row, list) or not row or not all(type(number) in (int, float) for number in row):
            raise TypeError("no vector")
        rows[item["index"]] = row
    if len(data) != count:
        raise ValueError("wrong number of vectors")
    return [rows[index] for index in range(count)]
