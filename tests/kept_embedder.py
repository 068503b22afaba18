"""Embedding models stay loaded from test to test: each build and each server needs one, a tenth of a second of work."""

import functools
import os
from pathlib import Path

from xkg.embeddings import onnx
from xkg.embeddings.published_weights import MINILM

_load = onnx.OnnxEmbedder


def kept_embedder(
    weights: Path | None = None, model: str = MINILM, threads: int = 2, *, eight_bits: bool = False
) -> onnx.OnnxEmbedder:
    """Stands in for `OnnxEmbedder`. A forked process loads its own: its threads are not those of its parent."""
    found = weights or onnx.find_weights(model)
    if found is None:  # it is refused or fetched
        return _load(weights, model, threads, eight_bits=eight_bits)
    return _kept(os.getpid(), found, weights, model, threads, eight_bits)


@functools.cache
def _kept(
    _process: int, _found: Path, weights: Path | None, model: str, threads: int, eight_bits: bool
) -> onnx.OnnxEmbedder:
    return _load(weights, model, threads, eight_bits=eight_bits)
