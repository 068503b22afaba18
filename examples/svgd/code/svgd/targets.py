"""Targets known by their score, the gradient of the log density."""

import numpy as np


class GaussianMixture:
    """A mixture of Gaussians on the real line with common variance."""

    def __init__(self, weights, means, scale=1.0):
        self.weights = np.asarray(weights, dtype=float)
        self.means = np.asarray(means, dtype=float)
        self.scale = scale

    def score(self, x):
        z = (x - self.means[None, :]) / self.scale
        density = self.weights * np.exp(-0.5 * z**2)
        responsibility = density / density.sum(axis=1, keepdims=True)
        return -(responsibility * z).sum(axis=1, keepdims=True) / self.scale


class BayesianLogisticRegression:
    """Posterior over weights of a logistic regression with a Gaussian prior."""

    def __init__(self, features, labels, prior_precision=1.0, batch_size=50, seed=0):
        self.features = features
        self.labels = labels
        self.prior_precision = prior_precision
        self.batch_size = min(batch_size, len(labels))
        self.random = np.random.default_rng(seed)

    def minibatch(self):
        """A random minibatch and the factor that scales its gradient to the whole data set."""
        rows = self.random.choice(len(self.labels), self.batch_size, replace=False)
        return self.features[rows], self.labels[rows], len(self.labels) / self.batch_size

    def score(self, weights):
        """Minibatch estimate of the score: scaled log-likelihood gradient plus log-prior gradient."""
        features, labels, scale = self.minibatch()
        logits = weights @ features.T
        residual = labels[None, :] - 1.0 / (1.0 + np.exp(-logits))
        return scale * residual @ features - self.prior_precision * weights
