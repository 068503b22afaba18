"""The list of papers, with filters and sorting."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from xkg.errors import InputError
from xkg.model import Level
from xkg.serve.answers.paper_list import ORDERS, PaperFilters, PaperList
from xkg.web.site import Site, integer, level_of, paged

ROWS = 50
_LONGEST_TEXT = 200


def show(site: Site, request: Request) -> Response:
    with site.service.snapshot() as snapshot:
        papers = site.service.paper_list(snapshot)
        choice = choice_of(request)
        page = paged(papers.chosen(choice), integer(request, "page", 1) or 1, ROWS)
        return site.render(
            request, "papers.html", rows=page, choice=choice, parameters=parameters(choice), **totals(papers)
        )


def choice_of(request: Request) -> PaperFilters:
    """Parses the filters in a URL. Raises `InputError` if a value is invalid."""
    asked = request.query_params
    order = asked.get("order", "proven")
    if order not in ORDERS:
        raise InputError(f"order must be one of {', '.join(ORDERS)}, not {order[:40]!r}")
    origin = asked.get("origin", "")
    if origin not in ("", "build", "import"):
        raise InputError(f"origin must be build or import, not {origin[:40]!r}")
    return PaperFilters(
        text=asked.get("q", "").strip()[:_LONGEST_TEXT],
        years=(integer(request, "from"), integer(request, "to")),
        level=level_of(request),
        origin=origin,
        field=asked.get("field", "")[:40],
        order=order,
    )


def parameters(choice: PaperFilters) -> Mapping[str, Any]:
    """Returns the URL parameters for these filters."""
    return {
        "q": choice.text,
        "from": choice.years[0],
        "to": choice.years[1],
        "level": choice.level.value if choice.level else "",
        "origin": choice.origin,
        "field": choice.field,
        "order": "" if choice.order == "proven" else choice.order,
    }


def totals(papers: PaperList) -> dict[str, Any]:
    return {
        "papers": len(papers.lines),
        "techniques": papers.techniques,
        "levels": papers.totals,
        "years": papers.years,
        "fields": papers.fields,
        "origins": len({line.origin for line in papers.lines}),
        "any_ran": any(papers.totals[level] for level in Level if level.rank >= Level.EXECUTED.rank),
    }
