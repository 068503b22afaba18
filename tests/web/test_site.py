from xkg.web.site import paged


def test_a_page_beyond_the_last_is_the_last() -> None:
    page = paged(list(range(7)), 9, 3)
    assert (page.rows, page.number, page.first, page.last) == ([6], 3, 7, 7)
    assert paged([], 1, 3).total == 0
