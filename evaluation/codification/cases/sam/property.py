"""Whether a training run follows `method.md`: watches weights, gradients and statistics while it trains.

Run in the folder of the code. Prints a line per property, `ok NAME` or `failed NAME: WHY`."""

import contextlib
import io
import runpy
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

RHO, MOMENTUM, BASE = 0.05, 0.9, 0.1
SIZE, EVALUATED, LAYERS = 32, 4000, 3


class Watched:
    """The record of a run of train.py: for each gradient the weights, the gradient, the batch, and the running
    statistics before and after its pass; and the weights at the last evaluation."""

    def __init__(self, epochs, samples, *, flat=False):
        import network

        self.passes, self.evaluated, self.failed = [], None, ""
        made = network.Network
        gradients, forward = made.gradients, made.forward
        last = {}

        def watched_forward(net, features, *more, **named):
            before = [(norm.mean.copy(), norm.variance.copy()) for norm in net.norms]
            given = forward(net, features, *more, **named)
            after = [(norm.mean.copy(), norm.variance.copy()) for norm in net.norms]
            last.update(batch=features.copy(), before=before, after=after)
            if len(features) == EVALUATED:
                self.evaluated = [each.copy() for each in net.parameters()]
            return given

        def watched_gradients(net, logits, labels):
            given = gradients(net, logits, labels)
            if flat:
                given = [np.zeros_like(each) for each in given]
            weights = [each.copy() for each in net.parameters()]
            self.passes.append({"weights": weights, "gradient": [each.copy() for each in given], **last})
            self.network = net
            return given

        made.gradients, made.forward = watched_gradients, watched_forward
        sys.argv = ["train.py", "--epochs", str(epochs), "--batch-size", str(SIZE), "--samples", str(samples)]
        try:
            with contextlib.redirect_stdout(io.StringIO()), np.errstate(invalid="raise", divide="raise"):
                runpy.run_path("train.py", run_name="__main__")
        except (ArithmeticError, ValueError) as error:
            self.failed = str(error)
        finally:
            made.gradients, made.forward = gradients, forward


def off(ones, others):
    return max(np.abs(a - b).max() for a, b in zip(ones, others, strict=True))


def near(distance, most=1e-9):
    return None if distance < most else f"off by {distance:.3g}"


def rate(step, steps):
    done = step / steps
    return BASE if done < 0.5 else BASE * max(0.01, 1 - (done - 0.5) / 0.5)


def properties():
    """Property names with the problem, None if there is none."""
    epochs, samples = 3, 5 * SIZE + 7
    per_epoch = samples // SIZE
    total = epochs * per_epoch
    run = Watched(epochs, samples)
    passes, expected = run.passes, per_epoch + 2 * (total - per_epoch)
    names = (
        "one pass a step in the first epoch, two later",
        "the first epoch is plain training",
        "weight matrices are moved by rho along the whole gradient",
        "biases, scale and shift are not moved",
        "both passes have the same samples",
        "the order of samples is that of usual training",
        "steps go from the restored weights with the second gradient",
        "running statistics follow the first pass alone",
        "the network is evaluated at its own weights",
    )
    if len(passes) != expected or run.failed:
        for name in names:
            yield name, run.failed or f"{len(passes)} gradients, not {expected}"
    else:
        plain, pairs = passes[:per_epoch], list(zip(passes[per_epoch::2], passes[per_epoch + 1 :: 2], strict=True))
        steps = [(each, each) for each in plain] + pairs
        velocity = [np.zeros_like(each) for each in plain[0]["weights"]]
        wrong = []
        for number, (first, second) in enumerate(steps):
            velocity = [
                MOMENTUM * v - rate(number, total) * g for v, g in zip(velocity, second["gradient"], strict=True)
            ]
            wanted = [w + v for w, v in zip(first["weights"], velocity, strict=True)]
            found = steps[number + 1][0]["weights"] if number + 1 < total else run.evaluated
            wrong.append(off(found, wanted))
        yield names[0], None
        yield names[1], near(max(wrong[:per_epoch]))
        moved, still = [], []
        for first, second in pairs:
            norm = np.sqrt(sum((g**2).sum() for g in first["gradient"][:LAYERS]))
            wanted = [RHO * g / norm for g in first["gradient"][:LAYERS]]
            moves = [b - a for a, b in zip(first["weights"], second["weights"], strict=True)]
            moved.append(off(moves[:LAYERS], wanted))
            still.append(max(np.abs(each).max() for each in moves[LAYERS:]))
        yield names[2], near(max(moved), 1e-7)
        yield names[3], near(max(still))
        same = all(a["batch"].shape == b["batch"].shape and np.array_equal(a["batch"], b["batch"]) for a, b in pairs)
        yield names[4], None if same else "they differ"
        yield names[5], usual_order(steps, samples, epochs, per_epoch)
        yield names[6], near(max(wrong[per_epoch:-1]))
        yield names[7], statistics(pairs)
        yield names[8], near(wrong[-1])
    flat = Watched(2, samples, flat=True)
    finite = not flat.failed and all(np.isfinite(each).all() for each in flat.network.parameters())
    yield "a gradient of zero moves nothing", None if finite else flat.failed or "weights are not finite"


def usual_order(steps, samples, epochs, per_epoch):
    """The samples of each step are those that the starter's generator gives."""
    import data

    features = data.spirals(samples, 0)[0]
    rng = np.random.default_rng(0)
    orders = [rng.permutation(samples) for _ in range(epochs)]
    for number, (first, _) in enumerate(steps):
        epoch, batch = divmod(number, per_epoch)
        if not np.array_equal(first["batch"], features[orders[epoch][batch * SIZE : (batch + 1) * SIZE]]):
            return f"others at step {number}"
    return None


def statistics(pairs):
    """The next first pass, or evaluation, begins with the statistics that the last first pass left."""
    distance = 0.0
    for (first, _), (after, _) in pairwise(pairs):
        for own, wanted in zip(after["before"], first["after"], strict=True):
            distance = max(distance, off(own, wanted))
    return near(distance)


def main():
    sys.path.insert(0, str(Path.cwd()))
    failed = False
    for name, problem in properties():
        failed = failed or problem is not None
        print(f"ok {name}" if problem is None else f"failed {name}: {problem}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
