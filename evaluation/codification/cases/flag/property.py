"""Whether training follows `method.md`: watches forward and backward passes, and optimizer steps.

Run in the folder of the code. Prints a line per property, `ok NAME` or `failed NAME: WHY`."""

import contextlib
import io
import runpy
import sys
from itertools import pairwise
from pathlib import Path

import torch
import torch.nn.functional as F

ALPHA, EPOCHS = 0.02, 3


class Run:
    """The recorded `events` of a run of `gnn.py`, in order, as (kind, value)."""

    def __init__(self, ascents, seed=0):
        self.events, self.problem = [], None
        sys.path.insert(0, str(Path.cwd()))
        import graph

        self.features = graph.Dataset("x")[0].x.clone()
        self.training_nodes = len(graph.Dataset("x").get_idx_split()["train"])
        sys.argv = f"gnn.py --epochs {EPOCHS} --runs 1 --hidden_channels 8 --dropout 0 --step-size {ALPHA}".split()
        sys.argv += ["-m", str(ascents), "--start-seed", str(seed)]
        with self._watched(graph), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                runpy.run_path("gnn.py", run_name="__main__")
            except SystemExit as error:
                if error.code:
                    self.problem = f"it ended with status {error.code}"
            except Exception as error:
                self.problem = f"{type(error).__name__}: {error}"

    @contextlib.contextmanager
    def _watched(self, graph):
        def forward(layer, x, adj_t):
            if x.shape[1] == self.features.shape[1]:
                seen = {"x": x.detach().clone(), "gradient": None}
                self.events.append(("pass" if layer.training else "evaluation", seen))
                if layer.training and x.requires_grad:
                    x.register_hook(lambda gradient: seen.update(gradient=gradient.detach().clone()))
            return originals[0](layer, x, adj_t)

        def nll_loss(given, target, *more, **named):
            loss = originals[1](given, target, *more, **named)
            self.events.append(("loss", (loss.item(), len(target))))
            return loss

        def backward(tensor, *more, **named):
            self.events.append(("backward", tensor.item()))
            return originals[2](tensor, *more, **named)

        def step(optimizer, *more, **named):
            self.events.append(("step", None))
            return originals[3](optimizer, *more, **named)

        def zero_grad(optimizer, *more, **named):
            self.events.append(("zero", None))
            return originals[4](optimizer, *more, **named)

        places = (
            (graph.GCNConv, "forward", forward),
            (F, "nll_loss", nll_loss),
            (torch.Tensor, "backward", backward),
            (torch.optim.Adam, "step", step),
            (torch.optim.Optimizer, "zero_grad", zero_grad),
        )
        originals = [getattr(owner, name) for owner, name, _ in places]
        for owner, name, watching in places:
            setattr(owner, name, watching)
        try:
            yield
        finally:
            for (owner, name, _), original in zip(places, originals, strict=True):
                setattr(owner, name, original)

    def steps(self):
        """The training events up to each optimizer step."""
        found = [[]]
        for kind, value in self.events:
            if kind == "evaluation":
                continue
            found[-1].append((kind, value))
            if kind == "step":
                found.append([])
        return [events for events in found if any(kind == "pass" for kind, _ in events)]


def of(events, wanted):
    return [value for kind, value in events if kind == wanted]


def properties():
    """Property names with the problem, None if there is none."""
    run = Run(3)
    yield "it runs with --step-size and -m", run.problem
    steps = run.steps()
    counts = {(len(of(step, "pass")), len(of(step, "backward")), len(of(step, "step"))) for step in steps}
    expected = len(steps) == EPOCHS and counts == {(3, 3, 1)}
    found = f"{len(steps)} steps with (forward, backward, optimizer) {sorted(counts)}"
    yield "three passes and one step of the optimizer", None if expected else found
    perturbations = [[seen["x"] - run.features for seen in of(step, "pass")] for step in steps]

    first = [each[0] for each in perturbations if each]
    inside = all(-1.001 * ALPHA <= p.min() < -0.9 * ALPHA and 0.9 * ALPHA < p.max() <= 1.001 * ALPHA for p in first)
    spread = all(abs(p.std().item() - ALPHA / 3**0.5) < 0.05 * ALPHA for p in first)
    yield "first perturbation uniform in the step size", None if first and inside and spread else "it is not"
    every = all((p.abs().sum(dim=1) > 0).all() for p in first)
    yield "all nodes are perturbed", None if first and every else "some are not"
    anew = all(not torch.allclose(a, b) for a, b in pairwise(first))
    yield "drawn anew in each step", None if len(first) > 1 and anew else "the same again"

    wrong = pairs = 0
    for step in steps:
        seen = of(step, "pass")
        for a, b in pairwise(seen):
            pairs += 1
            moved = b["x"] - a["x"]
            if a["gradient"] is None:
                wrong += 1
            else:
                sure = a["gradient"].abs() > 1e-12
                wrong += not torch.allclose(moved[sure], ALPHA * a["gradient"].sign()[sure], atol=ALPHA * 0.01)
    yield "ascent by the sign of the gradient", None if pairs and not wrong else f"not in {wrong} of {pairs} moves"

    divided = nodes = total = 0
    for step in steps:
        for loss, value in zip(of(step, "loss"), of(step, "backward"), strict=False):
            total += 1
            divided += abs(value - loss[0] / 3) < 1e-5 * max(1, abs(loss[0]))
            nodes += loss[1] == run.training_nodes
    yield "each loss divided by m", None if total and divided == total else f"in {divided} of {total} passes"
    yield "loss of the training nodes", None if total and nodes == total else f"in {nodes} of {total} passes"
    cleared = []
    for step in steps:
        kinds = [kind for kind, _ in step]
        inner = kinds[kinds.index("backward") :] if "backward" in kinds else ["zero"]
        cleared.append("zero" in kinds and "zero" not in inner)
    yield "gradients cleared once, before the passes", None if cleared and all(cleared) else "they are not"

    clean = of(run.events, "evaluation")
    same = all(torch.equal(seen["x"], run.features) for seen in clean)
    yield "evaluation on clean features", None if clean and same else "it is not"
    single = Run(1)
    counts = {(len(of(step, "pass")), len(of(step, "backward"))) for step in single.steps()}
    yield "m of 1 is one pass", None if single.problem is None and counts == {(1, 1)} else f"{single.problem or counts}"


def main():
    failed = False
    for name, problem in properties():
        failed = failed or problem is not None
        print(f"ok {name}" if problem is None else f"failed {name}: {problem}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
