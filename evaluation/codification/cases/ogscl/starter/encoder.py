"""A linear encoder onto the unit sphere, trained with the supervised contrastive loss."""

import numpy as np


class Encoder:
    def __init__(self, features, dimensions, rng):
        self.weights = rng.normal(size=(features, dimensions)) / np.sqrt(features)

    def encode(self, features):
        """Unit vectors of shape (n, dimensions)."""
        projected = features @ self.weights
        return projected / np.linalg.norm(projected, axis=1, keepdims=True)

    def step(self, features, labels, lr, temperature):
        """One step of gradient descent on a batch; returns its loss."""
        projected = features @ self.weights
        lengths = np.linalg.norm(projected, axis=1, keepdims=True)
        unit = projected / lengths
        loss, gradient = contrastive_loss(unit, labels, temperature)
        gradient = (gradient - unit * (gradient * unit).sum(axis=1, keepdims=True)) / lengths
        self.weights -= lr * features.T @ gradient
        return loss


def contrastive_loss(unit, labels, temperature):
    """The supervised contrastive loss (Khosla et al., 2020) of unit vectors, and its gradient with respect to them.

    Samples without a positive do not count."""
    count = len(labels)
    same = (labels[:, None] == labels[None, :]) & ~np.eye(count, dtype=bool)
    positives = same.sum(axis=1)
    anchors = positives > 0
    if not anchors.any():
        return 0.0, np.zeros_like(unit)
    logits = unit @ unit.T / temperature
    np.fill_diagonal(logits, -np.inf)
    logits = logits - logits.max(axis=1, keepdims=True)
    weights = np.exp(logits)
    chances = weights / weights.sum(axis=1, keepdims=True)
    share = np.where(same, 1.0 / np.maximum(positives, 1)[:, None], 0.0)
    log_chances = np.where(same, np.log(np.maximum(chances, 1e-12)), 0.0)
    scale = anchors.sum()
    loss = -(share * log_chances)[anchors].sum() / scale
    slope = np.where(anchors[:, None], chances - share, 0.0) / (scale * temperature)
    return loss, (slope + slope.T) @ unit
