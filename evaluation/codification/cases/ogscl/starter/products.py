"""Generated products: features of items, the attribute type that each sample is about, and the value it has."""

import numpy as np

TYPES = ("colour", "material", "pattern", "fit")
VALUES = (5, 4, 3, 4)
FEATURES = 24
NOISE = 2.0


class Samples:
    """`features` of shape (n, FEATURES); `types` and `labels` of shape (n,). Labels of different types differ."""

    def __init__(self, features, types, labels):
        self.features = features
        self.types = types
        self.labels = labels

    def __len__(self):
        return len(self.labels)


def samples(count, seed):
    """`count` samples; types are not equally frequent. What a type shares is a shift that dwarfs its values."""
    world = np.random.default_rng(7)
    shifts = 4.0 * world.normal(size=(len(TYPES), FEATURES))
    values = [world.normal(size=(many, FEATURES)) for many in VALUES]
    first = np.concatenate([[0], np.cumsum(VALUES)[:-1]])

    rng = np.random.default_rng(seed)
    types = rng.choice(len(TYPES), size=count, p=(0.45, 0.3, 0.15, 0.1))
    chosen = np.array([rng.integers(VALUES[kind]) for kind in types])
    features = np.stack([shifts[kind] + values[kind][value] for kind, value in zip(types, chosen, strict=True)])
    features = features + NOISE * rng.normal(size=features.shape)
    return Samples(features, types, first[types] + chosen)
