"""Whether a training run follows `method.md`: watches the batches that the encoder is trained on.

Run in the folder of the code. Prints a line per property, `ok NAME` or `failed NAME: WHY`."""

import contextlib
import io
import runpy
import sys
from itertools import chain, pairwise
from pathlib import Path

import numpy as np

EPOCHS, SIZE, COUNT = 4, 32, 603


def trained_batches(seed):
    """The sample indices of each training step, in order, and the samples' attribute types."""
    sys.path.insert(0, str(Path.cwd()))
    import encoder
    import products

    known, steps = {}, []
    original_samples, original_step = products.samples, encoder.Encoder.step

    def samples(count, seed):
        made = original_samples(count, seed)
        if not known:
            known["types"] = np.array(made.types)
            known["rows"] = {row.tobytes(): number for number, row in enumerate(np.ascontiguousarray(made.features))}
        return made

    def step(self, features, labels, *more, **named):
        rows = np.ascontiguousarray(features)
        steps.append([known["rows"][row.tobytes()] for row in rows])
        return original_step(self, features, labels, *more, **named)

    products.samples, encoder.Encoder.step = samples, step
    sys.argv = ["train.py", "--epochs", str(EPOCHS), "--batch-size", str(SIZE), "--samples", str(COUNT)]
    sys.argv += ["--seed", str(seed)]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path("train.py", run_name="__main__")
    finally:
        products.samples, encoder.Encoder.step = original_samples, original_step
        for name in [name for name, module in sys.modules.items() if in_tree(module)]:
            del sys.modules[name]
    return steps, known["types"]


def in_tree(module):
    place = getattr(module, "__file__", None)
    return bool(place) and Path(place).resolve().is_relative_to(Path.cwd())


def properties():
    """Property names with the problem, None if there is none."""
    steps, types = trained_batches(0)
    kinds = [{int(types[each]) for each in batch} for batch in steps]
    mixed = sum(len(of) > 1 for of in kinds)
    yield "one type a batch", f"{mixed} of {len(steps)} batches mix types" if mixed else None
    large = sum(len(batch) > SIZE for batch in steps)
    yield "batch size", f"{large} batches are larger than {SIZE}" if large else None
    single = sum(len(batch) < 2 for batch in steps)
    yield "no single sample", f"{single} batches have one sample" if single else None

    rest = sum(1 for kind in np.unique(types) if (types == kind).sum() % SIZE == 1)
    expected = sum(-(-int((types == kind).sum()) // SIZE) for kind in np.unique(types)) - rest
    whole = len(steps) == EPOCHS * expected
    yield "batches of an epoch", None if whole else f"{len(steps)} steps in {EPOCHS} epochs, not {EPOCHS * expected}"
    length = max(1, len(steps) // EPOCHS)
    epochs = [steps[at : at + length] for at in range(0, EPOCHS * length, length)]
    seen = [list(chain(*epoch)) for epoch in epochs]
    wrong = sum(len(of) != len(set(of)) or len(of) != COUNT - rest for of in seen)
    yield "every sample once an epoch", f"not in {wrong} of {EPOCHS} epochs" if wrong else None

    orders = [[tuple(of) for of in kinds[at : at + length]] for at in range(0, EPOCHS * length, length)]
    switches = [sum(a != b for a, b in pairwise(order)) for order in orders]
    blocks = min(switches, default=0) <= 2 * len(np.unique(types))
    yield "types alternate", f"types change {min(switches, default=0)} times in an epoch" if blocks else None
    yield "another order of types each epoch", "the same in all" if len(set(map(tuple, orders))) == 1 else None
    members = [frozenset(map(frozenset, epoch)) for epoch in epochs]
    shared = len(frozenset.intersection(*members)) if members else 0
    yield "samples in random order", f"{shared} batches come back in every epoch" if shared > 1 else None

    again, other = trained_batches(0)[0], trained_batches(1)[0]
    yield "the seed decides", None if again == steps and other != steps else "batches do not follow the seed"


def main():
    failed = False
    for name, problem in properties():
        failed = failed or problem is not None
        print(f"ok {name}" if problem is None else f"failed {name}: {problem}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
