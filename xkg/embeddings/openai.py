"""Embeddings from any server that speaks OpenAI's protocol: https://platform.openai.com/docs/api-reference/embeddings.

The key is `XKG_EMBEDDING_KEY` of the environment. `OPENAI_API_KEY` is used for OpenAI's own service alone: a settings
file that names another server must not be enough to send it there. No key is part of a setting, a log line or an error.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from xkg.config import OPENAI_URL
from xkg.errors import EmbeddingError
from xkg.unicode import encodable

if TYPE_CHECKING:
    import numpy as np
    import openai
    from numpy.typing import NDArray

_BATCH = 32  # what text-embeddings-inference lets through unasked; others take more
_CHARACTERS = 8000  # OpenAI refuses a text of more than 8,192 tokens
_MAX_BYTES = 64 << 20
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0
_SHOWN = 200


class OpenAIEmbedder:
    """`model` of the server at `base_url`, to unit length; `Embedder.model` is `openai:<model>`.

    Requests of 32 texts, one after the other; the first 8,000 characters of a text count. What may pass (408, 409, 429,
    5xx, a cut or silent connection) is tried again, with the pauses that the server asks for, for at most `patience`
    seconds a request; an attempt that hears nothing for `timeout` seconds, or has no whole answer then, has failed.
    Safe to call from several threads.

    Raises `EmbeddingError`: from the constructor without a key or with one that no header can carry, later where the
    server refuses, does not answer, or answers with what is no list of equally long vectors.
    """

    def __init__(
        self, model: str, base_url: str = OPENAI_URL, *, patience: float = 60.0, timeout: float = 30.0
    ) -> None:
        self._key = _key(base_url)
        import openai

        # Servers without keys ignore this one; the SDK insists on one. Attempts are counted here, not there.
        self._client = openai.OpenAI(api_key=self._key or "none", base_url=base_url, max_retries=0)
        self._requested = model
        self._at = urlsplit(base_url).netloc
        self._patience = patience
        self._timeout = timeout
        self._dimension = 0
        self.model = f"openai:{model}"

    @property
    def dimension(self) -> int:
        """Asked of the server once, with a text of one word."""
        if not self._dimension:
            self._vectors(["dimension"])
        return self._dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        # An empty text is refused by OpenAI.
        readable = [encodable(text[:_CHARACTERS]) or " " for text in texts]
        batches = [self._vectors(readable[start : start + _BATCH]) for start in range(0, len(readable), _BATCH)]
        return np.concatenate(batches) if batches else np.empty((0, self.dimension), np.float32)

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np

        try:
            rows = _rows(self._answer(texts), len(texts))
            vectors = np.array(rows, np.float64)
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            raise EmbeddingError(
                f"{self._at} answered with what is no list of {len(texts)} embeddings: check embedding.base_url (it "
                "often ends in /v1) and embedding.model"
            ) from None
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise EmbeddingError(f"{self._at} gave a vector without direction for {self._requested}: try another model")
        dimension = vectors.shape[1]
        if self._dimension and dimension != self._dimension:
            raise EmbeddingError(
                f"{self._at} gave {dimension} numbers for a text, and {self._dimension} before: something else answers "
                f"as {self._requested!a} now; start again when it is the model you want"
            )
        self._dimension = dimension
        result: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
        return result

    def _answer(self, texts: list[str]) -> bytes:
        """The body of the answer, after as many attempts as the patience allows."""
        import httpx2
        import openai

        give_up = time.monotonic() + self._patience
        wait = _FIRST_WAIT
        while True:
            left = give_up - time.monotonic()
            asked = 0.0
            try:
                return self._attempt(texts, min(self._timeout, max(left, 0.1)))
            except openai.APIStatusError as error:
                line = self._refusal(error)
                if error.status_code not in (408, 409, 429) and error.status_code < 500:
                    raise EmbeddingError(line) from None
                if error.code == "insufficient_quota":
                    raise EmbeddingError(line) from None
                asked = _retry_after(error.response.headers.get("retry-after", ""))
            except (openai.APITimeoutError, httpx2.TimeoutException):
                line = f"{self._at} did not answer in time: check embedding.base_url, or try again"
            except (openai.APIConnectionError, httpx2.TransportError) as error:
                cause = type(error.__cause__ or error).__name__
                line = f"{self._at} cannot be reached, or cuts the connection ({cause}): check embedding.base_url"
            except (openai.OpenAIError, httpx2.HTTPError, UnicodeError) as error:
                raise EmbeddingError(
                    f"no embeddings from {self._at} ({type(error).__name__}): check embedding.base_url"
                ) from None
            pause = max(asked, wait * random.uniform(0.75, 1))
            if time.monotonic() + pause >= give_up:
                waits = f"; it asks for a pause of {asked:.0f} s" if asked > wait else ""
                raise EmbeddingError(f"{line}; given up after {self._patience:.0f} s of trying{waits}") from None
            time.sleep(pause)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _attempt(self, texts: list[str], seconds: float) -> bytes:
        """One request. The body is read in pieces, so that neither one that trickles nor one without end can hold it up
        or fill the memory."""
        import httpx2

        end = time.monotonic() + seconds
        body = bytearray()
        with self._client.embeddings.with_streaming_response.create(
            # Asked for in words: the SDK's own choice, base64, is not understood everywhere.
            input=texts,
            model=self._requested,
            encoding_format="float",
            timeout=seconds,
        ) as response:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _MAX_BYTES:
                    raise EmbeddingError(f"{self._at} answers without end: check embedding.base_url")
                if time.monotonic() > end:
                    raise httpx2.ReadTimeout("the answer trickles")
        return bytes(body)

    def _refusal(self, error: openai.APIStatusError) -> str:
        status = error.status_code
        if status in (401, 403):
            # A server's words on a key may hold the key.
            return f"{self._at} refuses the key (HTTP {status}): set {_variables(self._at)} to one that may embed"
        said = error.body.get("message") if isinstance(error.body, dict) else None
        words = " ".join(str(said).split()) if isinstance(said, str) else ""
        if self._key:
            words = words.replace(self._key, "[key]")
        words = ascii(words[:_SHOWN])[1:-1]
        todo = "try again later" if status == 429 or status >= 500 else "check embedding.model and embedding.base_url"
        return f"{self._at} answered HTTP {status}{f' ({words})' if words else ''}: {todo}"


def _rows(body: bytes, count: int) -> list[list[float]]:
    """The vectors in the order of the texts. Raises `ValueError`, `KeyError` or `TypeError` for any other answer."""
    data: Any = json.loads(body)["data"]
    rows: dict[int, list[float]] = {}
    for item in data:
        row = item["embedding"]
        if not isinstance(row, list) or not row or not all(type(number) in (int, float) for number in row):
            raise TypeError("no vector")
        rows[item["index"]] = row
    if len(data) != count:
        raise ValueError("another number of vectors")
    return [rows[index] for index in range(count)]


def _key(base_url: str) -> str:
    """The key of the environment, or none; OpenAI's own service needs one."""
    at = urlsplit(base_url).netloc
    key = os.environ.get("XKG_EMBEDDING_KEY", "").strip()
    if not key and at == urlsplit(OPENAI_URL).netloc and base_url.startswith("https:"):
        key = os.environ.get("OPENAI_API_KEY", "").strip()
        if not key:
            raise EmbeddingError(f"no key for {at}: set {_variables(at)}, or embedding.base_url to another server")
    if not (key.isascii() and key.isprintable()):
        raise EmbeddingError(f"the key of the environment holds characters that no key has: set {_variables(at)} again")
    return key


def _variables(at: str) -> str:
    own = at == urlsplit(OPENAI_URL).netloc
    return "XKG_EMBEDDING_KEY or OPENAI_API_KEY" if own else "XKG_EMBEDDING_KEY"


def _retry_after(header: str) -> float:
    """Seconds; 0 where the header is none, or a date, which the usual pauses cover."""
    try:
        seconds = float(header)
    except ValueError:
        return 0.0
    return seconds if 0 < seconds < float("inf") else 0.0
