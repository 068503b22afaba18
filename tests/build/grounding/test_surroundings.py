"""What stands around a symbol decides between candidates that share the words of a technique alike."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from xkg.build.code.repository import parse_repository
from xkg.build.grounding.ground import ground
from xkg.build.grounding.index.block_index import BlockIndex
from xkg.build.grounding.index.symbol_index import SymbolIndex
from xkg.build.grounding.query import technique_queries
from xkg.build.grounding.ranking import Ranking
from xkg.build.grounding.surroundings import corrected
from xkg.build.repositories.checkout import fetch_repository
from xkg.embeddings.base import Embedder
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import Technique

FILLER = "".join(f"def load_table_{i}(path):\n    return open_table(path, {i})\n\n\n" for i in range(20))
DECAY = Technique(
    id="p#decay",
    name="Step decay of the learning rate",
    definition="The learning rate is lowered by a factor at epochs 75 and 90 of training.",
)
TRAINING = """def fit(args, model, optimizer):
    # the learning rate is lowered in steps: decay by a factor at epochs of training
    for epoch in range(1, args.epochs + 1):
        lower_learning_rate(optimizer, epoch, args.learning_rate)
        loss = run_epoch(args, model, optimizer, epoch)
        save(model, epoch, loss)


"""
LOWERING = """def lower_learning_rate(optimizer, epoch, rate):
    for step in (75, 90):
        if epoch >= step:
            rate = rate * 0.1
    for group in optimizer.param_groups:
        group["lr"] = rate


"""
ENCODER = Technique(
    id="p#encoder",
    name="Convolutional text encoder",
    definition="Characters are embedded and pass through three convolutions and a bidirectional LSTM.",
)
MAKING = """class Characters:
    def __init__(self, characters, width):
        self.embedding = Embedding(characters, width)
        self.convolutions = ModuleList([Conv1d(width, width, 5) for _ in range(3)])
        self.text = LSTM(width, width // 2, bidirectional=True)
"""
STORING = """class TextEncoderSettings:
    def __init__(self, text, encoder, convolutional):
        self.text, self.encoder, self.convolutional = text, encoder, convolutional
"""


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return OnnxEmbedder()


def first(technique: Technique, files: Mapping[str, str], folder: Path, embedder: Embedder) -> str:
    (folder / "code").mkdir()
    for name, text in files.items():
        (folder / "code" / name).write_text(text)
    codebase = parse_repository(fetch_repository(str(folder / "code"), folder / "cache"))
    return ground([technique], codebase, embedder).of(technique.id)[0].symbol.partition("::")[2]


@pytest.mark.parametrize("order", [TRAINING + LOWERING, LOWERING + TRAINING])
def test_a_function_stands_before_the_one_that_only_calls_it(order: str, tmp_path: Path, embedder: Embedder) -> None:
    assert first(DECAY, {"train.py": FILLER + order}, tmp_path, embedder) == "lower_learning_rate"


def test_a_constructor_that_makes_parts_gains_and_one_that_stores_does_not(tmp_path: Path, embedder: Embedder) -> None:
    (tmp_path / "model.py").write_text(MAKING + STORING)
    codebase = parse_repository(fetch_repository(str(tmp_path), tmp_path))
    index = BlockIndex(SymbolIndex(codebase))
    ranking = Ranking(index, technique_queries([ENCODER], None), embedder, 0.0, limit=9, least_share=0.0)
    features = {symbol.partition("::")[2]: found for symbol, found in ranking.features(ENCODER.id).items()}
    made, stored = features["Characters.__init__"], features["TextEncoderSettings.__init__"]
    assert made["parts that a constructor makes"] > stored["parts that a constructor makes"] == 0
    assert corrected(made) > corrected({**made, "parts that a constructor makes": 0.0}) + 0.05
