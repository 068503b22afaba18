from hypothesis import given
from hypothesis import strategies as st

from xkg.serve.http.limits import MOST_CALLERS, Rates, caller


@given(st.integers(1, 600), st.lists(st.floats(0, 30), max_size=200))
def test_nobody_gets_more_than_the_burst_and_the_rate(per_minute: int, pauses: list[float]) -> None:
    now = 0.0
    rates = Rates(per_minute, lambda: now)
    granted = 0
    for pause in pauses:
        now += pause
        granted += rates.take("a") == 0
        assert granted <= max(1, per_minute / 10) + now * per_minute / 60 + 1e-6


def test_callers_do_not_fill_the_memory() -> None:
    rates = Rates(60, lambda: 0.0)
    while not rates.take("first"):
        pass
    for number in range(MOST_CALLERS - 1):
        rates.take(str(number))
    rates.take("one more")
    assert rates.wait("first") == 0  # the bucket of "first" was dropped


def test_a_network_is_one_caller_however_many_addresses_it_has() -> None:
    def at(address: str) -> str:
        return caller({"type": "http", "client": (address, 1)})

    assert at("2001:db8::1") == at("2001:db8::ffff:1") != at("2001:db8:0:1::1")
    assert at("192.0.2.1") != at("192.0.2.2")
    assert at("fe80::1%eth0") == at("fe80::2%eth0")
