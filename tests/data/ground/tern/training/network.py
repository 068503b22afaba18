import numpy as np
from tern.losses import nec_loss, orth_init
from tern.memory import EchoMemory, SpectralGate


class TernNetwork:
    """Temporal echo retrieval: gate, project, then read the memory."""

    def __init__(self, bands, width, slots):
        self.gate = SpectralGate(np.full(bands, 0.1))
        self.projection = orth_init(bands, width)
        self.memory = EchoMemory(slots, width)

    def forward(self, spectrum):
        key = self.gate(spectrum) @ self.projection
        echo = self.memory.read(key, 4.0)
        self.memory.write(key)
        return key, echo

    def loss(self, spectrum, negatives):
        key, echo = self.forward(spectrum)
        return nec_loss(key, echo, negatives)
