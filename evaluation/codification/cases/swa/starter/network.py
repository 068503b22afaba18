"""A perceptron with batch normalization, and its gradients."""

from itertools import pairwise

import numpy as np


class BatchNorm:
    def __init__(self, width, momentum=0.9, epsilon=1e-5):
        self.scale, self.shift = np.ones(width), np.zeros(width)
        self.mean, self.variance = np.zeros(width), np.ones(width)
        self.momentum, self.epsilon = momentum, epsilon

    def forward(self, x, training):
        if training:
            mean, variance = x.mean(0), x.var(0)
            self.mean = self.momentum * self.mean + (1 - self.momentum) * mean
            self.variance = self.momentum * self.variance + (1 - self.momentum) * variance
        else:
            mean, variance = self.mean, self.variance
        self.deviation = np.sqrt(variance + self.epsilon)
        self.normal = (x - mean) / self.deviation
        return self.scale * self.normal + self.shift

    def backward(self, gradient):
        self.scale_gradient = (gradient * self.normal).sum(0)
        self.shift_gradient = gradient.sum(0)
        inner = gradient * self.scale
        return (inner - inner.mean(0) - self.normal * (inner * self.normal).mean(0)) / self.deviation


class Network:
    def __init__(self, sizes, seed):
        rng = np.random.default_rng(seed)
        self.weights = [rng.normal(size=(a, b)) * np.sqrt(2 / a) for a, b in pairwise(sizes)]
        self.biases = [np.zeros(b) for b in sizes[1:]]
        self.norms = [BatchNorm(width) for width in sizes[1:-1]]

    def parameters(self):
        """The arrays that training changes, in a fixed order; they are changed in place."""
        return [*self.weights, *self.biases, *(a for norm in self.norms for a in (norm.scale, norm.shift))]

    def forward(self, x, training=False):
        self.inputs, self.active = [], []
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            self.inputs.append(x)
            x = x @ weight + bias
            if layer < len(self.norms):
                x = self.norms[layer].forward(x, training)
                self.active.append(x > 0)
                x = x * self.active[-1]
        return x

    def gradients(self, logits, labels):
        """Gradients of the mean cross entropy, in the order of `parameters`."""
        shifted = np.exp(logits - logits.max(1, keepdims=True))
        gradient = shifted / shifted.sum(1, keepdims=True)
        gradient[np.arange(len(labels)), labels] -= 1
        gradient /= len(labels)
        weights, biases = [], []
        for layer in reversed(range(len(self.weights))):
            if layer < len(self.norms):
                gradient = self.norms[layer].backward(gradient * self.active[layer])
            weights.insert(0, self.inputs[layer].T @ gradient)
            biases.insert(0, gradient.sum(0))
            gradient = gradient @ self.weights[layer].T
        return [*weights, *biases, *(a for n in self.norms for a in (n.scale_gradient, n.shift_gradient))]
