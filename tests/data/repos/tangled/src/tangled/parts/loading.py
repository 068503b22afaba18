import functools

from ..utils import load as load_other
from .scaling import scale


def doubled(f):
    @functools.wraps(f)
    def inner(*args):
        return 2 * f(*args)

    return inner


@doubled
def load(x, default=scale(3)):
    return len(load_other([x])) + default
