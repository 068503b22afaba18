"""Whether a training run follows `method.tex`: watches weights, gradients and statistics while it trains.

Run in the folder of the code. Prints a line per property, `ok NAME` or `failed NAME: WHY`."""

import contextlib
import io
import math
import runpy
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

BASE, LEAST, MOMENTUM = 0.1, 0.005, 0.9
SIZE, EVALUATED = 32, 4000


def watched(epochs, samples):
    """Runs train.py. Returns the weights and gradients of each step, then weights and statistics at the last
    evaluation."""
    import network

    steps, evaluated, made = [], [], network.Network
    gradients, forward = made.gradients, made.forward

    def watched_gradients(self, logits, labels):
        given = gradients(self, logits, labels)
        steps.append(([each.copy() for each in self.parameters()], [each.copy() for each in given]))
        return given

    def watched_forward(self, features, *more, **named):
        if len(features) == EVALUATED:
            statistics = [(norm.mean.copy(), norm.variance.copy()) for norm in self.norms]
            evaluated.append(([each.copy() for each in self.parameters()], statistics))
        return forward(self, features, *more, **named)

    made.gradients, made.forward = watched_gradients, watched_forward
    sys.argv = ["train.py", "--epochs", str(epochs), "--batch-size", str(SIZE), "--samples", str(samples)]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path("train.py", run_name="__main__")
    finally:
        made.gradients, made.forward = gradients, forward
    return steps, *evaluated[-1]


def rates(steps):
    """The learning rate of each step except the last, computed from the weights that momentum moved."""
    found, velocity = [], [np.zeros_like(each) for each in steps[0][0]]
    for (weights, gradients), (after, _) in pairwise(steps):
        moved = [new - old for old, new in zip(weights, after, strict=True)]
        array = max(range(len(gradients)), key=lambda n: np.abs(gradients[n]).max())
        place = np.unravel_index(np.abs(gradients[array]).argmax(), gradients[array].shape)
        step = MOMENTUM * velocity[array][place] - moved[array][place]
        found.append(float(step / gradients[array][place]))
        velocity = moved
    return np.array(found)


def last_weights(steps):
    """The weights after the last step, which ends a cycle."""
    (before, _), (weights, gradients) = steps[-2:]
    return [w + MOMENTUM * (w - b) - LEAST * g for b, w, g in zip(before, weights, gradients, strict=True)]


def statistics_of(weights, samples):
    """Mean and variance of each normalization layer with these weights: plain averages over the batches in order."""
    import data
    import network

    features = data.spirals(samples, 0)[0]
    net = network.Network([features.shape[1], 64, 64, 4], 0)
    for parameter, value in zip(net.parameters(), weights, strict=True):
        parameter[...] = value
    found = [[] for _ in net.norms]
    for first in range(0, samples - SIZE + 1, SIZE):
        active = features[first : first + SIZE]
        for layer, norm in enumerate(net.norms):
            inner = active @ net.weights[layer] + net.biases[layer]
            found[layer].append((inner.mean(0), inner.var(0)))
            active = np.maximum(norm.forward(inner, True), 0)
    return [tuple(np.mean(each, 0) for each in zip(*of, strict=True)) for of in found]


def properties():
    """Property names with the problem, None if there is none."""
    epochs, samples = 6, 10 * SIZE
    cycle, total = samples // SIZE, epochs * (samples // SIZE)
    start = math.ceil(0.5 * total)
    steps, weights, statistics = watched(epochs, samples)
    yield "number of steps", None if len(steps) == total else f"{len(steps)}, not {total}"
    found = rates(steps)
    constant = np.allclose(found[:start], BASE, rtol=1e-6)
    yield "constant rate before the cycles", None if constant else f"down to {found[:start].min():.4f}"
    falling = BASE + (LEAST - BASE) * (np.arange(total - start - 1) % cycle) / (cycle - 1)
    cyclic = len(found) == total - 1 and np.allclose(found[start:], falling, rtol=1e-5)
    yield "rate within cycles", None if cyclic else f"{found[start : start + cycle].round(4)}"

    ends = [steps[at][0] for at in range(start + cycle, total, cycle)]
    mean = [np.mean(each, 0) for each in zip(*ends, last_weights(steps), strict=True)]
    far = max(np.abs(a - b).max() for a, b in zip(weights, mean, strict=True))
    yield "evaluated weights are the average of the ends of cycles", None if far < 1e-8 else f"off by {far:.3g}"
    apart = max(np.abs(a - b).max() for a, b in zip(weights[6:], mean[6:], strict=True))
    yield "scale and shift are averaged", None if apart < 1e-8 else f"off by {apart:.3g}"
    for layer, (own, wanted) in enumerate(zip(statistics, statistics_of(weights, samples), strict=True)):
        plain = all(np.allclose(a, b) for a, b in zip(own, wanted, strict=True))
        yield f"statistics of layer {layer} are plain averages of the batches", None if plain else "they are not"
    two = [np.mean(each, 0) for each in zip(*ends[:2], strict=True)]
    trained_on = np.allclose(steps[start + 2 * cycle][0][0], two[0])
    yield "training goes on from its own weights", "it goes on from the average" if trained_on else None

    steps, weights, _ = watched(1, samples + 10)  # the cyclic phase begins at step 5 of 10
    off = max(np.abs(a - b).max() for a, b in zip(weights, steps[-1][0], strict=True))
    yield "an unfinished cycle enters nothing", None if off < 0.5 else f"off by {off:.3g}"
    steps, weights, _ = watched(3, samples + 10)  # from step 15 of 30: one cycle is complete after step 24
    yield "one finished cycle is the average", None if np.allclose(weights[0], steps[25][0][0]) else "it is another"


def main():
    sys.path.insert(0, str(Path.cwd()))
    failed = False
    for name, problem in properties():
        failed = failed or problem is not None
        print(f"ok {name}" if problem is None else f"failed {name}: {problem}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
