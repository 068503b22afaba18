"""Batches of training samples."""


def batches(types, size, rng):
    """Yields arrays of indices, at most `size` each; together they are all samples once. `types` are the samples'
    attribute types."""
    order = rng.permutation(len(types))
    for start in range(0, len(order), size):
        yield order[start : start + size]
