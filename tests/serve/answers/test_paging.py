"""Checks that cursors resume at the end of a page, and are refused for other requests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.errors import InputError
from xkg.serve.answers.paging import MOST_CHARACTERS, MOST_SEEN, Page

KEYS = st.lists(st.text(max_size=8), unique=True, max_size=40)


@given(KEYS, KEYS)
def test_what_was_shown_is_not_shown_again_whatever_came_since(first: list[str], second: list[str]) -> None:
    cursor = Page(None, "tool").beyond(first)
    assert cursor is not None
    page = Page(cursor, "tool")
    assert page.seen == len(first)
    assert [second[place] for place in page.unseen(second)] == [key for key in second if key not in first]


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda raw: raw.hex()))
def test_what_is_no_cursor_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError) as refused:
        Page(text, "tool")
    assert "\n" not in str(refused.value)


def test_cursors_stay_short() -> None:
    page = Page(Page(None, "tool").beyond([str(n) for n in range(MOST_SEEN - 1)]), "tool")
    full = page.beyond(["last"])
    assert full is not None
    assert len(full) <= MOST_CHARACTERS
    assert page.beyond(["last", "one more"]) is None
    assert len(Page(None, "tool").after(["k" * 100] * 10_000)) < 50
