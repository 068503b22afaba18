"""Stein variational gradient descent: the loop over particles."""

import numpy as np

from .stein import kernelized_stein_discrepancy, stein_direction
from .stepsize import AdaGrad


class SVGD:
    """Moves particles towards a target that is known by its score function."""

    def __init__(self, score, step=None, bandwidth=None):
        self.score = score
        self.step = step or AdaGrad()
        self.bandwidth = bandwidth

    def update(self, particles):
        """One transport of all particles."""
        direction = stein_direction(particles, self.score(particles), self.bandwidth)
        return particles + self.step.step(direction)

    def sample(self, particles, iterations=500):
        """Particles after the given number of iterations."""
        particles = np.array(particles, dtype=float)
        for _ in range(iterations):
            particles = self.update(particles)
        return particles

    def discrepancy(self, particles):
        return kernelized_stein_discrepancy(particles, self.score(particles))
