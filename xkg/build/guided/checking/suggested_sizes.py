"""Suggests sizes for a test's data by framework, since different operations are slow in each."""

from collections.abc import Collection

_BY_FRAMEWORK = (
    (
        frozenset("jax flax haiku equinox optax ott numpyro diffrax distrax chex".split()),
        "JAX compiles: about 0.1 s for each kind of operation and shape that runs by itself, about 1 s for a network "
        "under one `jax.jit`, whatever the sizes. Use few different shapes; call one jitted function for a whole step, "
        "and one for the initialisation of a network; one block of each kind, 2 to 3 steps, sizes of 2 to 8.",
    ),
    (
        frozenset({"torch", "torchvision", "torchaudio", "lightning", "transformers", "timm"}),
        "torch runs at once, without compiling (leave `torch.compile` out); what costs are depth, channels and pixels. "
        "Sizes of 2 to 8, batches of 2 or 3; of a network one block of each kind, 4 to 8 channels, images of 8 × 8.",
    ),
    (
        frozenset({"tensorflow", "keras"}),
        "TensorFlow traces each `tf.function` for each shape, half a second or more: few shapes, eager calls, sizes of "
        "2 to 8, one block of each kind.",
    ),
)
_ARRAYS = "Arrays of 2 to 8 along each axis; a few dozen steps cost nothing."


def suggested_sizes(packages: Collection[str], seconds: float) -> str:
    """The `sizes_for` these packages, and the time limit of a run in `seconds`."""
    return f"{sizes_for(packages)}\nA run is ended at its {seconds:g}-second limit."


def sizes_for(packages: Collection[str]) -> str:
    """One line for each framework among `packages` (import names)."""
    return "\n".join(text for names, text in _BY_FRAMEWORK if not names.isdisjoint(packages)) or _ARRAYS
