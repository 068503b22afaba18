import email.utils

import pytest

from xkg.retry_after import seconds_to_wait


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), (" 0.5 ", 0.5), ("0", 0.0), ("-3", 0.0), ("", 0.0), (None, 0.0), ("soon", 0.0), ("inf", 0.0),
     ("nan", 0.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("Wed, 99 Oct 99999 07:28:00 GMT", 0.0)],
)  # fmt: skip
def test_a_number_counts_and_nonsense_does_not(header: str | None, seconds: float) -> None:
    assert seconds_to_wait(header, 1_700_000_000.0) == seconds


def test_a_date_is_as_far_away_as_it_is() -> None:
    assert seconds_to_wait(email.utils.formatdate(1_700_003_600, usegmt=True), 1_700_000_000.0) == 3600
