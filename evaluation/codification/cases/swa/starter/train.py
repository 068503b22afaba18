"""Trains a perceptron on noisy spirals and prints its accuracy on clean ones."""

import argparse

import numpy as np
from data import spirals
from network import Network


def learning_rate(step, steps, base):
    """Constant for half of the training, then linearly down to a hundredth."""
    done = step / steps
    return base if done < 0.5 else base * max(0.01, 1 - (done - 0.5) / 0.5)


def evaluate(network, features, labels):
    return (network.forward(features).argmax(1) == labels).mean()


def train(network, features, labels, epochs, batch_size, base, seed):
    rng = np.random.default_rng(seed)
    velocity = [np.zeros_like(each) for each in network.parameters()]
    per_epoch = len(features) // batch_size
    for epoch in range(epochs):
        order = rng.permutation(len(features))
        for batch in range(per_epoch):
            rows = order[batch * batch_size : (batch + 1) * batch_size]
            rate = learning_rate(epoch * per_epoch + batch, epochs * per_epoch, base)
            logits = network.forward(features[rows], training=True)
            for parameter, speed, gradient in zip(
                network.parameters(), velocity, network.gradients(logits, labels[rows]), strict=True
            ):
                speed *= 0.9
                speed -= rate * gradient
                parameter += speed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--samples", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    features, labels, _ = spirals(given.samples, given.seed)
    test_features, _, test_labels = spirals(4000, given.seed + 1000)
    network = Network([features.shape[1], 64, 64, 4], given.seed)
    train(network, features, labels, given.epochs, given.batch_size, given.learning_rate, given.seed)
    print(f"test accuracy: {evaluate(network, test_features, test_labels):.4f}")


if __name__ == "__main__":
    main()
