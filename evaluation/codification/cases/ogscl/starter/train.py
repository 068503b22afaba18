"""Trains an encoder of product attributes, and prints how well values are told apart within their type."""

import argparse

import numpy as np
from batches import batches
from encoder import Encoder
from products import FEATURES, samples


def test(encoder, train_set, test_set):
    """The share of test samples whose nearest mean among the labels of their own type is that of their label."""
    unit, test_unit = encoder.encode(train_set.features), encoder.encode(test_set.features)
    correct = 0
    for kind in np.unique(train_set.types):
        labels = np.unique(train_set.labels[train_set.types == kind])
        means = np.stack([unit[train_set.labels == label].mean(axis=0) for label in labels])
        chosen = test_set.types == kind
        nearest = labels[(test_unit[chosen] @ means.T).argmax(axis=1)]
        correct += (nearest == test_set.labels[chosen]).sum()
    return correct / len(test_set)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--dimensions", type=int, default=6)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--temperature", type=float, default=0.2)
    parser.add_argument("--samples", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    rng = np.random.default_rng(args.seed)
    train_set, test_set = samples(args.samples, seed=1), samples(1000, seed=2)
    encoder = Encoder(FEATURES, args.dimensions, rng)
    for epoch in range(1, args.epochs + 1):
        losses = [
            encoder.step(train_set.features[chosen], train_set.labels[chosen], args.lr, args.temperature)
            for chosen in batches(train_set.types, args.batch_size, rng)
        ]
        print(f"epoch {epoch} loss {np.mean(losses):.4f}")
    print(f"test accuracy: {test(encoder, train_set, test_set):.4f}")


if __name__ == "__main__":
    main()
