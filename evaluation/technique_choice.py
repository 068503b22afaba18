"""Fits how techniques are chosen without a model: `python -m evaluation.technique_choice GOLD… --papers FOLDER`.

Gold files and papers are those of `evaluation.techniques`. A candidate (`xkg.build.techniques.learned`) is right where
it matches a technique of the reader's list. Of several that match the same one, the one that most kinds of places
give is an example, and the others are none, so that it is learned which name to take. Logistic regression with a
Gaussian prior on standardised features, by Newton's method.

Prints recall and precision at several probabilities, each paper judged by coefficients fitted without its fold, and
with `--write` stores the coefficients of all papers in `xkg/build/techniques/learned/coefficients.py`.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.techniques import ALIKE, NEAR, Gold, likeness, read_gold
from xkg.build.paper.document import Document
from xkg.build.paper.read import parse_paper
from xkg.build.techniques.definitions import read
from xkg.build.techniques.learned.candidates import CAPTION, PHRASE, Candidate, candidates
from xkg.build.techniques.learned.choice import distinct, probability
from xkg.build.techniques.learned.features import Features
from xkg.build.techniques.names import abbreviations

PRIOR = 10.0  # inverse variance of the prior
FOLDS = 10
COEFFICIENTS = Path("xkg/build/techniques/learned/coefficients.py")
PROBABILITIES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Example:
    """A paper's candidates with their features, and for each the golds that it matches, the most alike first."""

    golds: list[Gold]
    candidates: list[Candidate]
    features: list[dict[str, float]]
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
    found = candidates(reader, parts, abbreviations(s.text for s in reader.sentences))
    features = Features(reader, found)
    return Example(golds, found, [features.of(c) for c in found], [_matches(document, c, golds) for c in found])


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
    names = sorted({name for e in examples for row in e.features for name in row})
    values = np.array([[row.get(name, 0.0) for name in names] for e in examples for row in e.features])
    labels = [e.labels() for e in examples]
    right, weight = (np.concatenate([each[k] for each in labels]) for k in (0, 1))
    mean, scale = values.mean(0), values.std(0) + 1e-6
    standard = np.c_[(values - mean) / scale, np.ones(len(values))]
    prior = np.diag([*[PRIOR] * len(names), 1e-6])
    found = np.zeros(len(names) + 1)
    for _ in range(50):
        guess = 1 / (1 + np.exp(-standard @ found))
        gradient = standard.T @ (weight * (guess - right)) + prior @ found
        hessian = (standard * (weight * guess * (1 - guess) + 1e-9)[:, None]).T @ standard + prior
        step = np.linalg.solve(hessian, gradient)
        found -= step
        if np.abs(step).max() < 1e-6:
            break
    slopes = found[:-1] / scale
    return {"": float(found[-1] - slopes @ mean), **{n: float(s) for n, s in zip(names, slopes, strict=True)}}


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


def write(coefficients: dict[str, float], path: Path, papers: int) -> None:
    lines = [f"    {name!r}: {value:.4f},".replace("'", '"') for name, value in coefficients.items()]
    text = (
        f'"""Coefficients of `choice`, fitted on {papers} papers by `python -m evaluation.technique_choice`.\n\n'
        'They are log odds for each unit of a feature; "" is the intercept."""\n\n'
        "COEFFICIENTS = {\n" + "\n".join(lines) + "\n}\n"
    )
    path.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gold", nargs="+", type=Path)
    parser.add_argument("--papers", type=Path, required=True, help="a folder with a folder of sources for each paper")
    parser.add_argument("--write", action="store_true", help=f"store the coefficients of all papers in {COEFFICIENTS}")
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
        write(fit(examples), COEFFICIENTS, len(examples))


if __name__ == "__main__":
    main()
