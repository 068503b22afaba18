"""Step sizes for particle updates."""

import numpy as np


class AdaGrad:
    """Coordinate-wise step size from an exponential average of squared updates."""

    def __init__(self, step_size=0.1, decay=0.9, epsilon=1e-6):
        self.step_size = step_size
        self.decay = decay
        self.epsilon = epsilon
        self.history = None

    def step(self, direction):
        """The move for this update direction."""
        squared = direction**2
        if self.history is None:
            self.history = squared
        else:
            self.history = self.decay * self.history + (1.0 - self.decay) * squared
        return self.step_size * direction / (self.epsilon + np.sqrt(self.history))


class ConstantStep:
    """The same step size for all coordinates."""

    def __init__(self, step_size=0.1):
        self.step_size = step_size

    def step(self, direction):
        return self.step_size * direction
