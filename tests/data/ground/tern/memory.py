import numpy as np


class EchoMemory:
    """Slots of past spectra; the oldest slot is overwritten."""

    def __init__(self, slots, width):
        self.keys = np.zeros((slots, width))
        self.ages = np.zeros(slots)

    def write(self, key):
        oldest = int(np.argmax(self.ages))
        self.keys[oldest] = key
        self.ages += 1
        self.ages[oldest] = 0

    def read(self, query, sharpness):
        """Attend over the slots with a softmax of dot products."""
        scores = self.keys @ query * sharpness
        weights = np.exp(scores - scores.max())
        return weights / weights.sum() @ self.keys

    def __repr__(self):
        return f"EchoMemory with {len(self.keys)} echo memory slots of past spectra"


class SpectralGate:
    """Suppresses frequency bands below a learned noise floor."""

    def __init__(self, floor):
        self.floor = floor

    def __call__(self, spectrum):
        return np.where(spectrum > self.floor, spectrum, 0.0)
