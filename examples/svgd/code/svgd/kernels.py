"""Kernels over particles, with their gradients."""

import numpy as np

MIN_BANDWIDTH = 1e-6


def pairwise_squared_distances(particles):
    """Squared Euclidean distances between all rows, shape (n, n)."""
    squares = np.sum(particles**2, axis=1)
    distances = squares[:, None] + squares[None, :] - 2.0 * particles @ particles.T
    return np.maximum(distances, 0.0)


def median_bandwidth(squared_distances):
    """The median heuristic: squared median distance over log n."""
    n = squared_distances.shape[0]
    median = np.median(squared_distances)
    return max(median / np.log(n + 1.0), MIN_BANDWIDTH)


def rbf_kernel(particles, bandwidth=None):
    """RBF kernel matrix and, for each particle, the sum over j of the gradient of k(x_j, x_i) in x_j."""
    squared = pairwise_squared_distances(particles)
    h = median_bandwidth(squared) if bandwidth is None else bandwidth
    kernel = np.exp(-squared / h)
    gradient = 2.0 / h * (particles * kernel.sum(axis=1, keepdims=True) - kernel @ particles)
    return kernel, gradient, h
