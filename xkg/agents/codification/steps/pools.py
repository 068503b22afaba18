"""Pools of actions, against loops: actions of one pool may follow one another only so often, less often as the run goes
on; some actions are free."""

import math
from collections.abc import Sequence

from xkg.agents.codification.prompting.answers import CODING, UNDERSTANDING

_POOLS = {"understanding": UNDERSTANDING, "code": CODING}


def pool_of(action: str) -> str | None:
    """The pool of an action; None for a free one."""
    return next((name for name, actions in _POOLS.items() if action in actions), None)


def limit(size: int, decay: float, step: int) -> int:
    """How many actions of one pool may follow one another at a step (the first is 0): `size` · exp(-`decay` · step),
    at least one."""
    return max(1, math.floor(size * math.exp(-decay * step)))


def exhausted(taken: Sequence[str], size: int, decay: float) -> str | None:
    """The pool of which no further action may be taken now, after the actions `taken`. A free action does not end a row
    of one pool: it neither counts nor starts anew."""
    most = limit(size, decay, len(taken))
    row = [pool for action in taken if (pool := pool_of(action)) is not None]
    last = row[-1] if row else None
    count = 0
    for pool in reversed(row):
        if pool != last:
            break
        count += 1
    return last if last is not None and count >= most else None
