"""Fitting the weights of a symbol's surroundings."""

import numpy as np
import pytest

from evaluation.place_weights import COLUMNS, Example, fit, recall

TELLING, NOISE = COLUMNS.index("named callee"), COLUMNS.index("prose")


def example(number: int) -> Example:
    """Five candidates: the score puts the second first in one of two examples, where the telling feature is high."""
    chance = np.random.default_rng(number)
    features = np.zeros((5, len(COLUMNS)))
    features[:, 0] = [0.5, 0.6 if number % 2 else 0.4, 0.3, 0.2, 0.1]
    features[1, TELLING] = 1.0
    features[:, NOISE] = chance.random(5)
    right = np.array([1.0, 0, 0, 0, 0])
    return Example(f"r{number}", features, right, right > 0)


def test_a_feature_of_wrong_candidates_gets_a_negative_weight_in_units_of_the_score() -> None:
    found = [example(number) for number in range(200)]
    weights = fit(found)
    assert weights[0] == 1.0
    assert weights[TELLING] < -0.1
    assert abs(weights[NOISE]) < 0.05
    alone = np.eye(len(COLUMNS))[0]
    assert recall(found, dict.fromkeys(range(200), alone), 1) == pytest.approx(0.5)
    assert recall(found, dict.fromkeys(range(200), weights), 1) == 1.0
    assert recall(found, dict.fromkeys(range(200), alone), 2) == 1.0


def test_techniques_whose_place_is_no_candidate_are_missed_and_teach_nothing() -> None:
    found = [example(number) for number in range(20)]
    lost = Example("r", found[0].features, np.zeros(5), np.zeros(5, dtype=bool))
    assert np.allclose(fit(found), fit([*found, lost]))
    assert recall([lost], {0: fit(found)}, 5) == 0.0
