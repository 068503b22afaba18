import numpy as np


def nec_loss(anchor, positive, negatives, margin=0.2):
    near = np.linalg.norm(anchor - positive)
    far = np.linalg.norm(negatives - anchor, axis=1)
    return np.maximum(0.0, near - far + margin).mean()


def prune_slots(memory, keep):
    return _prune_by_age(memory, keep)


def _prune_by_age(memory, keep):
    """Slot pruning: drop the slots that were not read for longest, and renumber the rest."""
    order = np.argsort(memory.ages)[:keep]
    memory.keys = memory.keys[order]
    memory.ages = memory.ages[order]
    return memory


def orth_init(rows, columns, seed=0):
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(rows, columns)))
    return q * np.sign(np.diag(r))
