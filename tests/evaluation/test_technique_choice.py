"""The fit of how techniques are chosen."""

import json
from dataclasses import replace
from pathlib import Path

from evaluation.technique_choice import LEAST_PAPERS_OF_WORD, Example, counts, fit, write
from evaluation.techniques import Gold
from xkg.build.techniques.learned.candidates import Candidate
from xkg.build.techniques.learned.choice import probability


def _paper(name: str) -> Example:
    golds = [
        Gold(name, "main.tex", kind, (word,), "main.tex", 1, 1)
        for kind, word in (("main", "egg rotation"), ("supporting", "nest mask"), ("mentioned", "feather filter"))
    ]
    found = [Candidate(n) for n in ("egg rotation", "tern egg rotation", "nest mask", "idle bird", "wet stone")]
    for candidate in found:
        candidate.kinds["section"] = 1
    features = [{"heading": 1.0}, {"heading": 1.0, "long": 1.0}, {"heading": 1.0}, {"plural": 1.0}, {}]
    return Example(golds, found, features, [[(1.0, 0)], [(0.8, 0)], [(1.0, 1)], [], []])


def test_the_fit_tells_right_from_wrong() -> None:
    coefficients = fit([_paper(name) for name in "abcdefgh"])
    assert probability({"heading": 1.0}, coefficients) > 0.5 > probability({"plural": 1.0}, coefficients)


def test_of_two_names_of_one_technique_only_the_better_is_an_example() -> None:
    right, weight = _paper("a").labels()
    assert right.tolist() == [1, 1, 1, 0, 0]
    assert weight.tolist() == [1, 0, 1, 1, 1]


def test_counts_of_a_choice() -> None:
    paper = _paper("a")
    assert counts(paper, [0.9, 0.8, 0.1, 0.7, 0.2], 0.5).tolist() == [1, 1, 1, 2, 1, 2]
    assert counts(paper, [0.9, 0.8, 0.6, 0.1, 0.2], 0.5).tolist() == [1, 1, 2, 2, 2, 2]


def test_a_word_counts_from_enough_papers_on() -> None:
    papers = [_paper(str(n)) for n in range(LEAST_PAPERS_OF_WORD)]
    papers = [replace(p, features=[{**row, "ends: rotation": 1.0} for row in p.features]) for p in papers]
    rare = [replace(papers[0], features=[{**row, "ends: mask": 1.0} for row in papers[0].features]), *papers[1:]]
    assert {"ends: rotation"} == {name for name in fit(rare) if name.startswith("ends")}


def test_coefficients_are_stored_without_the_smallest(tmp_path: Path) -> None:
    write({"": 0.0, "kind: call": 0.254, "plural": -0.001}, tmp_path / "coefficients.json")
    assert json.loads((tmp_path / "coefficients.json").read_text("utf-8")) == {"": 0.0, "kind: call": 0.25}
