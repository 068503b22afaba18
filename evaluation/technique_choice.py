"""Fits how techniques are chosen without a model: `python -m evaluation.technique_choice GOLD… --papers FOLDER`.

Gold files and papers are those of `evaluation.techniques`. A candidate (`xkg.build.techniques.learned`) is right where
it matches a technique of the reader's list. Of several that match the same one, the one that most kinds of places
give is an example, and the others are none, so that it is learned which name to take. Logistic regression with a
Gaussian prior: numbers are scaled to one standard deviation, words are not, so that rare ones count for little.

Prints recall and precision at several probabilities, each paper judged by coefficients fitted without its fold, and
with `--write` stores the coefficients of all papers beside `xkg.build.techniques.learned.choice`.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from evaluation.techniques import ALIKE, NEAR, Gold, likeness, read_gold
from xkg.build.paper.document import Document
from xkg.build.paper.read import parse_paper
from xkg.build.techniques.definitions import read
from xkg.build.techniques.learned.candidates import CAPTION, PHRASE, Candidate
from xkg.build.techniques.learned.choice import COEFFICIENTS, describe, distinct, probability
from xkg.build.techniques.learned.context_words import KINDS
from xkg.build.techniques.names import abbreviations

VARIANCE = 0.1  # of the prior
WORD_SCALE = 1.0
LEAST_PAPERS_OF_WORD = 15
SMALLEST = 0.03
FOLDS = 10
NEGATIVES = 0.2  # share of the candidates that are phrases alone and not right, which stand for all of these
WRITTEN = Path("xkg/build/techniques/learned") / COEFFICIENTS
PROBABILITIES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Example:
    """A paper's candidates with their features, and for each the golds that it matches, the most alike first."""

    golds: list[Gold]
    candidates: list[Candidate]
    features: list[Mapping[str, float]]
    matches: list[list[tuple[float, int]]]

    def labels(self) -> tuple[Matrix, Matrix]:
        """For each candidate 1 where it is right, and its weight: 0 where another one names the same technique."""
        best: dict[int, tuple[float, int]] = {}
        for i, matched in enumerate(self.matches):
            if matched:
                kinds = len(set(self.candidates[i].kinds) - {PHRASE, CAPTION})
                best[matched[0][1]] = max(best.get(matched[0][1], (0.0, -1)), (matched[0][0] + 0.1 * kinds, i))
        chosen = {i for _, i in best.values()}
        right = np.array([float(bool(m)) for m in self.matches])
        return right, np.array([float(not m or i in chosen) for i, m in enumerate(self.matches)])


def example(document: Document, golds: list[Gold]) -> Example:
    """The candidates of a paper, compared with its gold."""
    reader, parts = read(document)
    described = describe(reader, parts, abbreviations(s.text for s in reader.sentences))
    found = [each.candidate for each in described]
    features = [each.features for each in described]
    return Example(golds, found, features, [_matches(document, c, golds) for c in found])


def _matches(document: Document, candidate: Candidate, golds: Sequence[Gold]) -> list[tuple[float, int]]:
    places = [document.place(offset) for offset in sorted(set(candidate.offsets))[:3]]
    described = bool(candidate.headings) or bool({"define", "opening"} & set(candidate.kinds))
    out = []
    for j, gold in enumerate(golds):
        alike = max(likeness(a, b) for a in candidate.names for b in gold.names)
        there = any(p is not None and p[0] == gold.file and gold.first <= p[1] <= gold.last for p in places)
        if alike >= ALIKE or (alike >= NEAR and there and described):
            out.append((alike + 0.1 * there + 0.05 * (gold.kind != "mentioned"), j))
    return sorted(out, reverse=True)


def fit(examples: Sequence[Example]) -> dict[str, float]:
    """Coefficients by feature, and the intercept by ""."""
    chance = random.Random(0)
    rows: list[Mapping[str, float]] = []
    right: list[float] = []
    weights: list[float] = []
    for each in examples:
        for candidate, features, label, weight in zip(each.candidates, each.features, *each.labels(), strict=True):
            is_sampled = not label and set(candidate.kinds) <= {PHRASE, CAPTION}
            if weight and (not is_sampled or chance.random() < NEGATIVES):
                rows.append(features)
                right.append(label)
                weights.append(1 / NEGATIVES if is_sampled else 1.0)
    names = _names(examples)
    values = _matrix(rows, {name: n for n, name in enumerate(names)})
    mean = np.asarray(values.mean(axis=0)).ravel()
    variance = np.asarray(values.power(2).mean(axis=0)).ravel() - mean**2
    deviation = np.sqrt(np.maximum(variance, 0.0)) + 1e-6
    scale = np.array([WORD_SCALE if _is_word(name) else 1 / d for name, d in zip(names, deviation, strict=True)])
    model = LogisticRegression(C=VARIANCE, max_iter=1000)
    model.fit(values.multiply(scale).tocsr(), right, sample_weight=weights)
    slopes = model.coef_[0] * scale
    return {"": float(model.intercept_[0]), **{n: float(s) for n, s in zip(names, slopes, strict=True)}}


def _is_word(feature: str) -> bool:
    return feature.partition(":")[0] in KINDS


def _names(examples: Sequence[Example]) -> list[str]:
    """The features of any paper, and the words of enough of them."""
    papers = Counter(name for each in examples for name in {name for row in each.features for name in row})
    return sorted(name for name, count in papers.items() if not _is_word(name) or count >= LEAST_PAPERS_OF_WORD)


def _matrix(rows: Sequence[Mapping[str, float]], columns: Mapping[str, int]) -> csr_matrix:
    found = [(i, columns[name], value) for i, row in enumerate(rows) for name, value in row.items() if name in columns]
    where, which, values = zip(*found, strict=True)
    return csr_matrix((values, (where, which)), shape=(len(rows), len(columns)))


def counts(paper: Example, probabilities: Sequence[float], least: float) -> Matrix:
    """Main ones found and wanted, main and supporting found and wanted, right ones, chosen ones."""
    order = sorted(range(len(probabilities)), key=lambda i: -probabilities[i])
    chosen = distinct([paper.candidates[i] for i in order if probabilities[i] >= least])
    index = {id(c): i for i, c in enumerate(paper.candidates)}
    matched: dict[int, int] = {}
    right: set[int] = set()
    for _, i, j in sorted((-a, index[id(c)], j) for c in chosen for a, j in paper.matches[index[id(c)]]):
        if i not in right and (j not in matched or paper.golds[j].kind == "mentioned"):
            right.add(i)
            matched.setdefault(j, i)
    kinds = [g.kind for g in paper.golds]
    found = [kinds[j] for j in matched]
    supporting = [sum(k != "mentioned" for k in each) for each in (found, kinds)]
    return np.array([found.count("main"), kinds.count("main"), *supporting, len(right), len(chosen)], dtype=float)


def write(coefficients: Mapping[str, float], path: Path) -> None:
    """Stores the coefficients to two decimals, but for the smallest, which decide nothing."""
    rounded = {name: round(value, 2) for name, value in sorted(coefficients.items())}
    text = json.dumps({name: value for name, value in rounded.items() if abs(value) >= SMALLEST or not name}, indent=0)
    path.write_text(text + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gold", nargs="+", type=Path)
    parser.add_argument("--papers", type=Path, required=True, help="a folder with a folder of sources for each paper")
    parser.add_argument("--write", action="store_true", help=f"store the coefficients of all papers in {WRITTEN}")
    options = parser.parse_args(arguments)
    examples = [
        example(parse_paper(options.papers / paper / golds[0].main_file), golds)
        for path in options.gold
        for paper, golds in read_gold(path).items()
    ]
    order = np.random.default_rng(0).permutation(len(examples))
    guesses: dict[int, list[float]] = {}
    for fold in range(FOLDS):
        held = {int(i) for i in order[fold::FOLDS]}
        fitted = fit([e for i, e in enumerate(examples) if i not in held])
        guesses |= {i: [probability(row, fitted) for row in examples[i].features] for i in held}
    print("probability   main   main, supporting   precision   chosen")
    for least in PROBABILITIES:
        total = np.sum([counts(e, guesses[i], least) for i, e in enumerate(examples)], axis=0)
        shares = [total[0] / total[1], total[2] / total[3], total[4] / max(1.0, total[5])]
        print(f"{least:11} {shares[0]:6.2f} {shares[1]:18.2f} {shares[2]:11.2f} {int(total[5]):8}")
    if options.write:
        write(fit(examples), WRITTEN)


if __name__ == "__main__":
    main()
