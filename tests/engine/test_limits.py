import asyncio
import itertools
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.engine.limits import Limits, OverError


@given(st.integers(1, 4), st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30))
def test_no_more_hold_a_place_than_there_are_and_all_get_one(places: int, uses: list[tuple[int, bool]]) -> None:
    limits = Limits({"model": places})
    holding, most, served = Counter[str](), [0], [0]

    async def use(number: int, pauses: int, dies: bool) -> None:
        attempt = str(number)
        await limits.take(attempt, "model")
        holding[attempt] += 1
        most[0] = max(most[0], holding.total())
        for _ in range(pauses):
            await asyncio.sleep(0)
        holding[attempt] -= 1
        served[0] += 1
        await (limits.over(attempt) if dies else limits.give(attempt, "model"))

    async def everybody() -> None:
        await asyncio.gather(*(use(i, pauses, dies) for i, (pauses, dies) in enumerate(uses)))

    asyncio.run(asyncio.wait_for(everybody(), 60))
    assert served == [len(uses)]
    assert most[0] <= places


async def test_an_attempt_that_is_over_gives_back_what_it_holds_and_gets_nothing_more() -> None:
    limits = Limits({"model": 1})
    await limits.take("lost", "model")
    waiting = asyncio.create_task(limits.take("other", "model"))
    late = asyncio.create_task(limits.take("lost", "model"))
    await asyncio.sleep(0)
    await limits.over("lost")
    await asyncio.wait_for(waiting, 60)
    with pytest.raises(OverError):
        await asyncio.wait_for(late, 60)
    with pytest.raises(OverError):
        await limits.take("lost", "model")
    await limits.give("lost", "model")  # the old process of "lost" releases a slot that it no longer has
    third = asyncio.create_task(limits.take("third", "model"))
    await asyncio.sleep(0)
    assert not third.done()
    await limits.give("other", "model")
    await asyncio.wait_for(third, 60)


async def test_turns_of_a_paced_name_keep_their_distance() -> None:
    limits = Limits({})
    begun: list[float] = []

    async def ask(attempt: str) -> None:
        await limits.take(attempt, "arxiv.org", 0.05)
        begun.append(time.monotonic())
        await limits.give(attempt, "arxiv.org", 0.05)

    await asyncio.gather(*(ask(str(i)) for i in range(3)))
    assert all(later - earlier >= 0.049 for earlier, later in itertools.pairwise(begun))
