"""Fits what a symbol's surroundings say of it: `python -m evaluation.place_weights GOLD… --mirrors FOLDER`.

Gold files are those of `evaluation.places`. Of each technique the `CANDIDATES` best symbols by evidence are examples: 1
where the best block and the symbol share lines with a place, `AROUND` where only the symbol does. The loss is the
negative logarithm of the share that right symbols have of the softmax over a technique's candidates, with a Gaussian
prior (features scaled to one standard deviation). Prints recall of places with and without the weights, each repository
judged by weights that were fitted without its fold, and the weights of all, for `xkg.build.grounding.surroundings`.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from evaluation.places import Labelled, Lines, lines_of, open_repository, read_places
from xkg.build.grounding.places import places
from xkg.build.grounding.query import technique_queries
from xkg.build.grounding.ranking import Ranking
from xkg.build.grounding.surroundings import WEIGHTS
from xkg.embeddings.base import Embedder
from xkg.embeddings.cache import CachedEmbedder
from xkg.embeddings.onnx import OnnxEmbedder

CANDIDATES = 15
AROUND = 0.6
VARIANCE = 0.02  # of the prior
FOLDS = 5
COLUMNS = ("score", *WEIGHTS)

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Example:
    """The candidates of one technique, best by evidence first: their features, how right each is (0..1), and which of
    them a place is seen from."""

    repository: str
    features: Matrix
    right: Matrix
    hit: NDArray[np.bool_]


def examples(labelled: Sequence[Labelled], embedder: Embedder, mirrors: Path | None, cache: Path) -> list[Example]:
    """The examples of all techniques that have a place. Raises `XkgError`."""
    found = []
    for name in dict.fromkeys(one.repository for one in labelled):
        searched = open_repository(name, mirrors, cache)
        for one in labelled:
            if one.repository == name and one.places:
                ranking = Ranking(
                    searched.index, technique_queries([one.technique], None), embedder, 0.0, limit=50, least_share=0.0
                )
                found.append(_example(one, ranking))
    return found


def _example(one: Labelled, ranking: Ranking) -> Example:
    features = ranking.features(one.technique.id)
    ranked = sorted(features, key=lambda symbol: (-features[symbol]["score"], symbol))[:CANDIDATES]
    spans, best = [], []
    for symbol in ranked:
        place = places([(symbol, 1.0)], ranking.blocks, 0, 1)[0].symbol
        source = ranking.blocks.index.symbols.entries[place].source.symbol
        spans.append(lines_of(source.path, source.start_line, source.end_line))
        blocks = ranking.blocks.of_symbol(0, place)[:1]
        best.append(lines_of(source.path, blocks[0][0].lines.first, blocks[0][0].lines.last) if blocks else spans[-1])
    return Example(
        one.repository,
        np.array([[features[symbol][column] for column in COLUMNS] for symbol in ranked]),
        np.array([_right(one.places, whole, block) for whole, block in zip(spans, best, strict=True)]),
        np.array([bool(whole & one.places) for whole in spans]),
    )


def _right(labelled: Lines, whole: Lines, block: Lines) -> float:
    return 0.0 if not whole & labelled else 1.0 if block & labelled else AROUND


def fit(found: Sequence[Example]) -> Matrix:
    """The weights of `COLUMNS`, that of the score 1."""
    used = [example for example in found if example.right.any()]
    values = np.concatenate([example.features for example in used])
    right = np.concatenate([example.right for example in used])
    starts = np.cumsum([0, *(len(example.right) for example in used)])[:-1]
    group = np.repeat(np.arange(len(used)), [len(example.right) for example in used])
    deviation = values.std(axis=0) + 1e-3
    scaled = values / deviation
    precision = np.array([0.0, *(1 / VARIANCE for _ in COLUMNS[1:])])

    def loss(weights: Matrix) -> tuple[float, Matrix]:
        odds = scaled @ weights
        raised = np.exp(odds - np.maximum.reduceat(odds, starts)[group])
        all_of, right_of = np.add.reduceat(raised, starts), np.add.reduceat(raised * right, starts)
        slope = scaled.T @ (raised / all_of[group] - raised * right / right_of[group]) + precision * weights
        return float(np.sum(np.log(all_of / right_of)) + 0.5 * np.sum(precision * weights**2)), slope

    weights: Matrix = np.asarray(minimize(loss, np.zeros(len(COLUMNS)), jac=True, method="L-BFGS-B").x) / deviation
    of_score: np.float64 = weights[0]
    return np.divide(weights, of_score)


def recall(found: Sequence[Example], weights: Mapping[int, Matrix], cut: int) -> float:
    """The share of techniques with a place among the `cut` best; `weights` by the number of the example."""
    hits = [
        bool(example.hit[np.argsort(-example.features @ weights[n], kind="stable")[:cut]].any())
        for n, example in enumerate(found)
    ]
    return float(np.mean(hits))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gold", nargs="+", type=Path)
    parser.add_argument("--mirrors", type=Path, help="folder that holds repositories as OWNER+NAME/repo")
    options = parser.parse_args(arguments)
    cache = Path("storage/cache")
    cache.mkdir(parents=True, exist_ok=True)
    labelled = [one for path in options.gold for one in read_places(path)]
    found = examples(labelled, CachedEmbedder(OnnxEmbedder, cache / "embeddings.sqlite"), options.mirrors, cache)
    names = sorted({example.repository for example in found})
    fold = {str(names[i]): n % FOLDS for n, i in enumerate(np.random.default_rng(0).permutation(len(names)))}
    fitted = [fit([e for e in found if fold[e.repository] != n]) for n in range(FOLDS)]
    alone = np.array([1.0, *(0.0 for _ in COLUMNS[1:])])
    for title, weights in (
        ("evidence alone", dict.fromkeys(range(len(found)), alone)),
        ("with surroundings", {n: fitted[fold[e.repository]] for n, e in enumerate(found)}),
    ):
        print(f"{title:18} @1 {recall(found, weights, 1):.3f}  @5 {recall(found, weights, 5):.3f}")
    for column, weight in zip(COLUMNS[1:], fit(found)[1:], strict=True):
        print(f'    "{column}": {weight:.4f},')


if __name__ == "__main__":
    main()
