"""Whether training follows `method.md`: watches the images that reach the augmentation and the network.

Run in the folder of the code. Prints a line per property, `ok NAME` or `failed NAME: WHY`."""

import contextlib
import io
import runpy
import sys
from pathlib import Path

import torch

EPOCHS, SIZE, HALF = 10, 50, 16
PLACES = {
    "left": (slice(None), slice(0, HALF)),
    "right": (slice(None), slice(HALF, None)),
    "upper": (slice(0, HALF), slice(None)),
    "lower": (slice(HALF, None), slice(None)),
}


class Run:
    """The images that a run of `main.py` passed to the augmentation (`augmented`) and the network (`trained`,
    `tested`). The original images have no zero pixels (`data.py`); flips of the augmentation are turned off."""

    def __init__(self, seed=0):
        self.augmented, self.trained, self.tested, self.problem = [], [], [], None
        sys.path.insert(0, str(Path.cwd()))
        import data

        def augment(_, images):
            self.augmented.append(images.detach().clone())
            return images

        def call(module, *given, **named):
            if type(module).__name__ == "ResNet" and torch.is_tensor(given[0]) and given[0].shape[1] == 3:
                (self.trained if module.training else self.tested).append(given[0].detach().clone())
                return module.fc.bias.expand(len(given[0]), -1)  # the network's result does not matter here
            return original_call(module, *given, **named)

        original_call, original_flip = torch.nn.Module.__call__, data.HorizontalFlip.__call__
        data.HorizontalFlip.__call__, torch.nn.Module.__call__ = augment, call
        self.originals = data.Images(train=True).images
        self.clean = data.Images(train=False)
        sys.argv = ["main.py", "--epochs", str(EPOCHS), "-b", str(SIZE), "--seed", str(seed)]
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                runpy.run_path("main.py", run_name="__main__")
        except SystemExit as error:
            self.problem = f"it ended with status {error.code}" if error.code else None
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"
        finally:
            torch.nn.Module.__call__, data.HorizontalFlip.__call__ = original_call, original_flip


def masked_half(images):
    """The name of the half that is zero in every image while the rest is not; None otherwise."""
    found = []
    for name, (rows, columns) in PLACES.items():
        rest = torch.ones(images.shape[2:], dtype=torch.bool)
        rest[rows, columns] = False
        if (images[:, :, rows, columns] == 0).all() and (images[:, :, rest] != 0).all():
            found.append(name)
    return found[0] if len(found) == 1 else None


def properties():
    """Property names with the problem, None if there is none."""
    run = Run()
    yield "it runs", run.problem
    batches = run.augmented
    sizes = {tuple(batch.shape[1:]) for batch in batches}
    yield "images keep their size", None if sizes == {(3, 2 * HALF, 2 * HALF)} else f"shapes {sorted(sizes)}"
    halves = [masked_half(batch) for batch in batches] if sizes == {(3, 2 * HALF, 2 * HALF)} else [None]
    odd = sum(half is None for half in halves)
    yield "one half of each batch is zero", f"not in {odd} of {len(halves)} batches" if odd or not batches else None
    missing = set(PLACES) - set(halves)
    yield "each half is masked now and then", f"never {', '.join(sorted(missing))}" if missing else None
    axes = sum(half in ("left", "right") for half in halves) / max(1, len(halves))
    yield "both axes about equally often", None if 0.25 < axes < 0.75 else f"{axes:.0%} of cuts are vertical"
    yield "the other half is untouched", None if batches and all(kept(run, batch) for batch in batches) else "it is not"
    trained = bool(run.trained) and len(run.trained) == len(batches)
    yield "masked before the augmentation, not after", None if trained and not odd else "they are not"
    clean = all(
        torch.equal(batch[0], run.clean[SIZE * (n % (len(run.clean) // SIZE))][0]) for n, batch in enumerate(run.tested)
    )
    yield "evaluation on whole images", None if run.tested and clean else "it is not"


def kept(run, batch):
    """Whether the non-zero part of each image is that of an original."""
    flat = run.originals.float()
    for image in batch[:5].float():
        seen = image != 0
        if not ((flat == image) | ~seen).flatten(1).all(dim=1).any():
            return False
    return True


def main():
    failed = False
    for name, problem in properties():
        failed = failed or problem is not None
        print(f"ok {name}" if problem is None else f"failed {name}: {problem}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
