from xkg.model import Level
from xkg.serve.answer_text import text
from xkg.serve.answers.paper_list import PaperFilters, PaperList
from xkg.serve.service import Service
from xkg.store.graph_store import PaperLine


def test_every_paper_is_listed_by_title_with_what_it_has(service: Service) -> None:
    answer = service.list_papers(10)
    titles = [row.title for row in answer.rows]
    assert titles == sorted(titles, key=str.casefold)
    assert answer.searched == f"all {len(titles)} papers"
    assert answer.cut == ""
    for row in answer.rows:
        paper = service.paper(row.id, full=True)
        assert (row.title, row.year, row.state) == (paper.title, paper.year, paper.state)
        assert row.techniques == len(paper.techniques)
        levels = [technique.level for technique in paper.techniques if technique.level != "none"]
        assert row.code == len(levels)
        assert row.tested == sum(level in ("tested", "faithful") for level in levels)


def test_what_a_limit_or_a_filter_leaves_out_is_said(service: Service) -> None:
    everything = service.list_papers(10).rows
    first = service.list_papers(1)
    assert first.rows == everything[:1]
    assert first.cut.startswith("1 more paper after the first 1")
    undated = [row for row in everything if row.year is None]
    dated = service.list_papers(10, PaperFilters(years=(1, None)))
    assert list(dated.rows) == [row for row in everything if row.year is not None]
    assert f"{len(undated)} paper" in dated.searched
    assert "without a year" in dated.searched
    assert "No such paper" in text(service.list_papers(10, PaperFilters(text="zzqx")))


def line(name: str, year: int | None, levels: dict[Level, int], *authors: str, origin: str = "build") -> PaperLine:
    return PaperLine(f"title:{name}", name, authors, year, origin, "complete", None, 0.0, sum(levels.values()), levels)


LINES = [
    line("Alpha kernels", 2020, {Level.PARSED: 9}, "Ada Lovelace"),
    line("Gamma", None, {}),
    line("beta flows", 2022, {Level.TESTED: 2, Level.NONE: 1}, origin="import"),
]
PAPERS = PaperList(1, LINES)


def names(**filters: object) -> list[str]:
    return [each.title for each in PAPERS.chosen(PaperFilters(**filters))]  # type: ignore[arg-type]


def test_filters_hold_together() -> None:
    assert names(text="LOVELACE alpha") == ["Alpha kernels"]
    assert names(years=(2021, None)) == ["beta flows"]
    assert names(years=(None, 2020)) == ["Alpha kernels"]
    assert names(years=(None, None)) == names()
    assert names(level=Level.EXECUTED) == ["beta flows"]
    assert names(origin="import") == ["beta flows"]
    assert names(text="kernels", years=(2021, None)) == []
    of_fields = PaperList(1, [LINES[0]._replace(subfield="cs.LG"), LINES[1]._replace(subfield="stat.ML"), LINES[2]])
    assert of_fields.fields == ["cs", "cs.LG", "stat", "stat.ML"]
    for field, found in (("cs", ["Alpha kernels"]), ("stat.ML", ["Gamma"]), ("cs.CV", [])):
        assert [each.title for each in of_fields.chosen(PaperFilters(field=field))] == found
