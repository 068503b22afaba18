"""Spirals of several arms in a space with useless dimensions; labels are wrong at times."""

import numpy as np


def spirals(count, seed, arms=4, noise=0.25, wrong=0.1):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, arms, count)
    radius = rng.uniform(0.3, 3.0, count)
    angle = 1.3 * radius + 2 * np.pi * labels / arms
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1) + noise * rng.normal(size=(count, 2))
    features = np.concatenate([points, rng.normal(size=(count, 6))], 1)
    flipped = rng.random(count) < wrong
    return features, np.where(flipped, rng.integers(0, arms, count), labels), labels
