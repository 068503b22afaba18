from xkg.model import Level
from xkg.store.graph_store import PaperLine
from xkg.web.overview import Choice, Overview, proven
from xkg.web.site import paged


def line(name: str, year: int | None, levels: dict[Level, int], *authors: str, origin: str = "build") -> PaperLine:
    return PaperLine(f"title:{name}", name, authors, year, origin, "complete", None, 0.0, sum(levels.values()), levels)


LINES = [
    line("Alpha kernels", 2020, {Level.PARSED: 9}, "Ada Lovelace"),
    line("beta flows", 2022, {Level.TESTED: 2, Level.NONE: 1}, origin="import"),
    line("Gamma", None, {}),
]
OVERVIEW = Overview(1, LINES, [" ".join((each.title, *each.authors)).casefold() for each in LINES])


def names(**choice: object) -> list[str]:
    return [each.title for each in OVERVIEW.chosen(Choice(**choice))]  # type: ignore[arg-type]


def test_what_runs_counts_more_than_what_is_only_there() -> None:
    assert names() == ["beta flows", "Alpha kernels", "Gamma"]
    assert proven(LINES[1]) > proven(LINES[0]) > proven(LINES[2]) == 0


def test_filters_hold_together() -> None:
    assert names(text="LOVELACE alpha") == ["Alpha kernels"]
    assert names(first=2021) == ["beta flows"]
    assert names(last=2020) == ["Alpha kernels"]
    assert names(level=Level.EXECUTED) == ["beta flows"]
    assert names(origin="import") == ["beta flows"]
    assert names(text="kernels", first=2021) == []


def test_orders() -> None:
    assert names(order="title") == ["Alpha kernels", "beta flows", "Gamma"]
    assert names(order="year") == ["beta flows", "Alpha kernels", "Gamma"]
    assert names(order="techniques") == ["Alpha kernels", "beta flows", "Gamma"]


def test_a_page_beyond_the_last_is_the_last() -> None:
    page = paged(list(range(7)), 9, 3)
    assert (page.rows, page.number, page.first, page.last) == ([6], 3, 7, 7)
    assert paged([], 1, 3).total == 0
