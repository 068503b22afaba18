"""Pools of actions prevent loops: the number of consecutive actions of one pool is limited, and the limit shrinks
during the run. Some actions are free."""

import math
from collections.abc import Sequence

from xkg.agents.codification.prompting.answers import CODING, UNDERSTANDING

_POOLS = {"understanding": UNDERSTANDING, "code": CODING}


def pool_of(action: str) -> str | None:
    """The pool of an action; None for a free one."""
    return next((name for name, actions in _POOLS.items() if action in actions), None)


def limit(size: int, decay: float, step: int) -> int:
    """The maximum number of consecutive actions of one pool at a step (the first is 0): `size` · exp(-`decay` · step),
    at least one."""
    return max(1, math.floor(size * math.exp(-decay * step)))


def exhausted(taken: Sequence[str], size: int, decay: float) -> str | None:
    """The pool that is exhausted after the actions `taken`. Free actions do not count, and do not interrupt a sequence
    of one pool."""
    most = limit(size, decay, len(taken))
    row = [pool for action in taken if (pool := pool_of(action)) is not None]
    last = row[-1] if row else None
    count = 0
    for pool in reversed(row):
        if pool != last:
            break
        count += 1
    return last if last is not None and count >= most else None
