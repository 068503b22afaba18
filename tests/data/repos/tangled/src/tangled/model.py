from __future__ import annotations

from typing import TYPE_CHECKING, Optional

import numpy as np

import tangled.config as cfg
from tangled import utils
from tangled.base import Base
from tangled.parts.loading import load as load_part

from .config import LIMIT, debug

if TYPE_CHECKING:
    from .trainer import Trainer

try:
    from .fast import kernel
except ImportError:
    from .slow import kernel

try:
    import surely_not_installed as extra
except ImportError:
    extra = None


def helper(x):
    return x + 1


class Model(Base):
    offset = helper(LIMIT)
    names = [f"{n}-{cfg.depth}" for n in utils.load("ab")]

    def __init__(self, trainer: Optional[Trainer] = None):
        self.trainer = trainer

    def step(self, x):
        from .trainer import finish

        load = utils.load("x")
        return finish(kernel(x) + self.offset + len(load) + load_part(x)) + np.ones(2).sum()

    def state(self):
        cfg.set_debug(True)
        return debug, cfg.debug, extra, f"{cfg.separator()}{cfg.tick()}"


def build(n):
    return Model() if n else None
