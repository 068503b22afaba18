from . import model, utils
from .registry import KNOWN, alias

alias("same", "identity")


class Trainer:
    def __init__(self, kind="same"):
        self.kind = kind

    def make(self):
        return KNOWN[self.kind]().run(5)

    def by_name(self, name):
        return getattr(utils, name)([1, 2])


def finish(x):
    return utils.sum([x, sum([1, 2])]) + len(model.Model.names)
