"""The Stein operator at work: the update direction of the particles and a discrepancy to judge them."""

import numpy as np

from .kernels import median_bandwidth, pairwise_squared_distances, rbf_kernel


def repulsive_force(kernel_gradient, n):
    """The part of the update that pushes particles away from one another."""
    return kernel_gradient / n


def stein_direction(particles, scores, bandwidth=None):
    """Velocity of steepest descent of the KL divergence, shape (n, d)."""
    n = particles.shape[0]
    kernel, kernel_gradient, _ = rbf_kernel(particles, bandwidth)
    driving = kernel @ scores / n
    return driving + repulsive_force(kernel_gradient, n)


def kernelized_stein_discrepancy(particles, scores, bandwidth=None):
    """V-statistic of the squared KSD between particles and the target whose scores are given."""
    _, d = particles.shape
    squared = pairwise_squared_distances(particles)
    h = median_bandwidth(squared) if bandwidth is None else bandwidth
    kernel = np.exp(-squared / h)
    differences = particles[:, None, :] - particles[None, :, :]
    cross = np.einsum("id,ijd->ij", scores, differences) - np.einsum("jd,ijd->ij", scores, differences)
    trace = 2.0 * d / h - 4.0 * squared / h**2
    return float(np.mean(kernel * (scores @ scores.T + 2.0 / h * cross + trace)))
