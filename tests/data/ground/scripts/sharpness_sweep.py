"""Sweep the sharpness of reading and print the retrieval accuracy of each."""

import numpy as np
from tern.training.network import TernNetwork

network = TernNetwork(16, 8, 4)
spectra = np.abs(np.random.default_rng(0).normal(size=(32, 16)))
for sharpness in (0.5, 1.0, 2.0, 4.0):
    hits = sum(bool(network.memory.read(network.gate(s) @ network.projection, sharpness).any()) for s in spectra)
    print(sharpness, hits / len(spectra))
