"""Converts text to unit vectors with the default runtime (ONNX) and model (MiniLM)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xkg.embeddings.base import ENCODED_CHARACTERS, MINILM, EncodedText, Passage, Text, WordSums, word_sums
from xkg.embeddings.onnx_weights import in_hub_cache, load_session, load_tokenizer, read_json, weights_file
from xkg.embeddings.published_weights import minilm
from xkg.embeddings.wordpiece import Pieces
from xkg.errors import EmbeddingError
from xkg.operating_system import processors
from xkg.text.unicode import encodable

_BATCH_TOKENS = 1024


class OnnxEmbedder:
    """Runs a sentence-transformers model with BERT's architecture and mean pooling on the CPU.

    Reimers and Gurevych, "Sentence-BERT", EMNLP 2019. Texts are truncated at the model's own limit (256 tokens for
    all-MiniLM-L6-v2). Only texts with the same number of tokens share a batch, so there is no padding. On the same
    machine, a text's vector is therefore always bit-identical, regardless of the other texts and the number of threads.
    Other processors use different kernels, but their vectors agree to about 1e-6. Lone surrogates are treated as `?`.
    Safe to call from several threads.

    Safetensors models run in 8-bit precision (see `bert_onnx`). If `weights` is None, all-MiniLM-L6-v2 is prepared once
    from the published files (see `published_weights`) and checked on each load. Raises `EmbeddingError` if the weights
    are missing, changed or unsupported."""

    def __init__(self, weights: Path | None = None, model: str = MINILM, threads: int = 2) -> None:
        folder = weights or (minilm() if model == MINILM else in_hub_cache(model))
        if folder is None:
            raise EmbeddingError(
                f"no weights for {model} on this machine; set embedding.weights (XKG_EMBEDDING__WEIGHTS) to a folder "
                "with tokenizer.json and model.safetensors"
            )
        if not (folder / "tokenizer.json").is_file():
            raise EmbeddingError(
                f"{folder} has no tokenizer.json; set embedding.weights to a folder that contains a model"
            )
        self.model = model
        config = read_json(folder / "config.json")
        self._max_tokens = _max_tokens(folder, config)
        self._tokenizer = load_tokenizer(folder, self._max_tokens)
        file = weights_file(folder)
        if file is None:
            raise EmbeddingError(f"{folder} contains neither model.safetensors nor model.onnx; set embedding.weights")
        self._session = load_session(file, config, self._tokenizer)
        self._map = ThreadPoolExecutor(threads, "encode").map
        # Further runs would wait for a core, and each holds up to 5 MB.
        self._places = BoundedSemaphore(max(threads, processors()))
        self._inputs = [each.name for each in self._session.get_inputs()]
        self._output = self._session.get_outputs()[0].name
        self.dimension: int = config.get("hidden_size") or self._session.get_outputs()[0].shape[-1]
        unknown = set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown or len(self._session.get_outputs()[0].shape) != 3:
            raise EmbeddingError(
                f"{folder}: the model does not return token vectors (inputs {', '.join(self._inputs)}); use the "
                "bare transformer's ONNX file, or model.safetensors"
            )

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        encodings = self._tokenized(texts)
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for row, hidden in self._hidden_rows(encodings):
            vectors[row] = _pooled(hidden)
        return vectors

    def encode(self, texts: Sequence[str]) -> list[EncodedText]:
        """Like `embed`, but also returns the words of each text. A `Passage` is encoded segment by segment."""
        passages = [text for text in texts if isinstance(text, Passage)]
        inside = {segment for text in passages for segment in text.segments}
        each = {_identity(text): text for text in (*inside, *texts) if not isinstance(text, Passage)}
        encodings = self._tokenized(list(each.values()))
        identities = list(each)
        encoded: dict[object, EncodedText] = {}
        sums: dict[object, _Sums] = {}  # stored only for segments, because a graph contains many other texts
        for row, hidden in self._hidden_rows(encodings):
            identity = identities[row]
            words = word_sums(each[identity], hidden, encodings[row].word_ids, encodings[row].offsets)
            own = _Sums(hidden.sum(axis=0, dtype=np.float64), len(hidden), words)
            encoded[identity] = own.encoded()
            if identity in inside:
                sums[identity] = own
        for text in passages:
            encoded[_identity(text)] = _joined([sums[segment] for segment in text.segments]).encoded()
        return [encoded[_identity(text)] for text in texts]

    def _tokenized(self, texts: Sequence[str]) -> list[Pieces]:
        return [self._tokenizer.encode(_readable(text)) for text in texts]

    def _hidden_rows(self, encodings: Sequence[Pieces]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        batches = list(_batches([len(encoding.ids) for encoding in encodings]))
        ids = [np.array([encodings[row].ids for row in rows], np.int64) for rows in batches]
        run = self._map if len(ids) > 1 else map
        for rows, hidden in zip(batches, run(self._hidden, ids), strict=True):
            yield from zip(rows, hidden, strict=True)

    def _hidden(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        feeds: dict[str, Callable[[], NDArray[np.int64]]] = {
            "input_ids": lambda: ids,
            "attention_mask": lambda: np.ones_like(ids),
            "token_type_ids": lambda: np.zeros_like(ids),
        }
        with self._places:
            (hidden,) = self._session.run([self._output], {name: feeds[name]() for name in self._inputs})
        result: NDArray[np.float32] = hidden
        return result


class _Sums(NamedTuple):
    """The parts of a text's encoding: the sum of the token vectors, the number of tokens, and the words."""

    total: NDArray[np.float64]
    tokens: int
    words: WordSums

    def encoded(self) -> EncodedText:
        return EncodedText(_unit(self.total / self.tokens), self.words.words, self.words.codes)


def _joined(segments: Sequence[_Sums]) -> _Sums:
    places: dict[str, int] = {}
    rows = [places.setdefault(word, len(places)) for segment in segments for word in segment.words.words]
    sums = np.zeros((len(places), len(segments[0].total)), np.float32)
    every = np.concatenate([segment.words.sums for segment in segments])
    for row, words in zip(rows, every, strict=True):
        sums[row] += words
    total = np.sum([segment.total for segment in segments], axis=0)
    return _Sums(total, sum(segment.tokens for segment in segments), WordSums(tuple(places), sums))


def _identity(text: str) -> object:
    """Returns a key that is equal for texts with the same encoding."""
    match text:
        case Text():
            return str(text), text.start, text.end
        case Passage():
            return text.segments
        case _:
            return text


def _pooled(hidden: NDArray[np.float32]) -> NDArray[np.float32]:
    return _unit(hidden.mean(axis=0, dtype=np.float64))


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(np.float32)
    return unit


def _readable(text: str) -> str:
    # Word pieces seldom have more than a few characters, so text beyond this length exceeds the model's limit anyway.
    return encodable(text[:ENCODED_CHARACTERS])


def _max_tokens(folder: Path, config: dict[str, Any]) -> int:
    pooling = read_json(folder / "1_Pooling" / "config.json")
    if not pooling.get("pooling_mode_mean_tokens", True):
        raise EmbeddingError(f"{folder}: only models with mean pooling are supported; change embedding.weights")
    limit = read_json(folder / "sentence_bert_config.json").get("max_seq_length") or 256
    return int(min(limit, config.get("max_position_embeddings") or limit))


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yields batches of rows of equal length, with at most `_BATCH_TOKENS` tokens per batch."""
    groups: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        groups.setdefault(length, []).append(row)
    for length, rows in sorted(groups.items()):
        size = max(1, _BATCH_TOKENS // max(1, length))
        yield from (rows[start : start + size] for start in range(0, len(rows), size))
