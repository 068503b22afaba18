from math import *

__all__ = ["scale"]
_hidden = 7


def scale(x):
    return floor(x * pi) + _hidden


def not_exported():
    return 0
