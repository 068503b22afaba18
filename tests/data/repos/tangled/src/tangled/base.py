import math

from .registry import register


class Base:
    """What all models share."""

    factor = math.floor(2.5)

    def run(self, x):
        return self.step(x) * self.factor

    def step(self, x):
        raise NotImplementedError


@register("identity")
class Identity(Base):
    def step(self, x):
        return x
