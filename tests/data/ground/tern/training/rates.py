def warmup_rate(step, warmup, peak):
    """Learning rate that rises linearly, then falls with the inverse square root of the step."""
    return peak * min(step / warmup, (warmup / max(step, 1)) ** 0.5)


def cyclic_rate(step, period, peak):
    """Learning rate that falls along a cosine and restarts each period."""
    from math import cos, pi

    return peak * 0.5 * (1 + cos(pi * (step % period) / period))
