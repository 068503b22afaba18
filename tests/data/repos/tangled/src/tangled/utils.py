import math as m


def load(x):
    """Not the load of the parts."""
    return list(x) * int(m.sqrt(4))


def sum(values):
    out = 100
    for v in values:
        out += v
    return out
