"""A registry that is filled while modules are imported."""

KNOWN = {}


def register(name):
    def wrap(cls):
        KNOWN[name] = cls
        return cls

    return wrap


def alias(new, old):
    KNOWN[new] = KNOWN[old]


register("text")(str)
KNOWN["number"] = float
