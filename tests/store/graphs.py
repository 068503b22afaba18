"""Provides small graphs for the tests of the store, and a replacement for the embedding model."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from xkg.embeddings.base import EncodedText
from xkg.model import (
    Code,
    Departure,
    Derivation,
    Evidence,
    Fidelity,
    Finding,
    Level,
    Location,
    Paper,
    PaperBundle,
    Reference,
    Repository,
    Resource,
    Symbol,
    Technique,
    code_id,
    symbol_id,
)
from xkg.store.local.store import EmbeddedStore

FIDELITY = Fidelity(
    share=0.6,
    by_definition=0.2,
    faults=(),
    statements=2,
    departures=(Departure(kind="elsewhere", statement="It is scaled.", remark="in train.py:3-9", searched=True),),
)
REPOSITORY = Repository(
    id="github.com/o/r@c0ffee",
    url="https://github.com/o/r",
    commit="c0ffee",
    license="MIT",
    license_texts={"LICENSE": "MIT License\n\nCopyright 2021 O\n"},
)


class FakeHashEmbedder:
    """Returns unit vectors and words computed from hashes of texts. Equal texts have equal vectors, and other
    similarities are meaningless."""

    def __init__(self, model: str = "fake-hash", dimension: int = 16) -> None:
        self.model = model
        self.dimension = dimension
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        rows = [np.frombuffer(hashlib.shake_128(t.encode()).digest(self.dimension), np.uint8) for t in texts]
        matrix = np.stack(rows).astype(np.float32) - 127.5
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)

    def encode(self, texts: Sequence[str]) -> list[EncodedText]:
        return hashed_words(texts, self.embed(texts))


def hashed_words(texts: Sequence[str], vectors: NDArray[np.float32]) -> list[EncodedText]:
    """Returns encoded texts with these vectors. Equal words get equal codes."""
    readings = []
    for text, vector in zip(texts, vectors, strict=True):
        words = tuple(dict.fromkeys(re.findall(r"\w+", text.lower())))
        digests = b"".join(hashlib.shake_128(word.encode()).digest(4) for word in words)
        readings.append(EncodedText(vector, words, np.frombuffer(digests, np.uint8).reshape(-1, 4)))
    return readings


def no_embedder() -> FakeHashEmbedder:
    raise AssertionError("nothing is to be embedded here")


def open_store(folder: Path, **settings: float | str) -> EmbeddedStore:
    return EmbeddedStore(folder, FakeHashEmbedder, **settings)  # type: ignore[arg-type]


def a_paper(number: int = 1, *, note: str = "") -> PaperBundle:
    """Returns a paper with a method of two parts. One part has code from a repository that is the same for all papers.
    A different `note` gives a different paper."""
    paper = f"arxiv:2101.{number:05d}"
    top, first, second = f"{paper}#method", f"{paper}#method/layer-norm", f"{paper}#method/warm-up"
    implementation = f"def layer_norm(x):\n    return x  # {number} {note}\n"
    code = Code(
        id=code_id(first, implementation, ""),
        technique=first,
        implementation=implementation,
        documentation="Scales activations to unit variance",
        packages=("numpy",),
        level=Level.PARSED,
        evidence=(Evidence(level=Level.PARSED, fidelity=FIDELITY),),
        claims={"pass_exec": None},
    )
    symbol = Symbol(
        id=symbol_id(REPOSITORY.id, "nn/norm.py", "LayerNorm"),
        repository=REPOSITORY.id,
        path="nn/norm.py",
        qualified_name="LayerNorm",
        kind="class",
        start_line=3,
        end_line=9,
    )
    return PaperBundle(
        paper=Paper(
            id=paper,
            title=f"Paper {number}",
            arxiv_id=f"2101.{number:05d}",
            origin="build",
            references=(Reference(title="A cited paper", arxiv_id="1706.03762"), Reference(title="paper  2.")),
        ),
        techniques=(
            Technique(id=top, name=f"Method {number}", kind="methodology", definition=f"All of it. {note}"),
            Technique(id=first, name="Layer normalisation", parent=top, depth=1, aliases=("LayerNorm", "LN")),
            Technique(id=second, name="Warm-up", parent=top, depth=1, definition="The learning rate grows linearly."),
        ),
        code=(code,),
        repositories=(REPOSITORY,),
        symbols=(symbol,),
        locations=(Location(technique=first, symbol=symbol.id, score=0.5, rank=1),),
        derivations=(Derivation(code=code.id, symbol=symbol.id),),
        findings=(Finding(id=f"{paper}#finding/1", name="It works"),),
        resources=(Resource(id=f"{paper}#resource/1", name="Weights", description="on request"),),
    )
