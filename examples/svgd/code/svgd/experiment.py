"""Samples a mixture of two Gaussians and prints what came out."""

import numpy as np

from .sampler import SVGD
from .targets import GaussianMixture


def main():
    target = GaussianMixture(weights=[1 / 3, 2 / 3], means=[-2.0, 2.0])
    sampler = SVGD(target.score)
    particles = sampler.sample(np.random.default_rng(0).normal(-10.0, 1.0, size=(100, 1)))
    print(f"mean {particles.mean():.3f} (target 0.667), discrepancy {sampler.discrepancy(particles):.4f}")


if __name__ == "__main__":
    main()
