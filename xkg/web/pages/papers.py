"""The list of papers, filtered and ordered."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from xkg.errors import InputError
from xkg.web.overview import ORDERS, Choice, Overview
from xkg.web.site import Site, integer, level_of, paged

ROWS = 50
_LONGEST_TEXT = 200


def show(site: Site, request: Request) -> Response:
    with site.service.snapshot() as snapshot:
        overview = site.overviews.of(snapshot)
        choice = choice_of(request)
        page = paged(overview.chosen(choice), integer(request, "page", 1) or 1, ROWS)
        return site.render(
            request, "papers.html", rows=page, choice=choice, parameters=parameters(choice), **totals(overview)
        )


def choice_of(request: Request) -> Choice:
    """The papers that an address chooses. Raises `InputError`."""
    asked = request.query_params
    order = asked.get("order", "proven")
    if order not in ORDERS:
        raise InputError(f"order is one of {', '.join(ORDERS)}, not {order[:40]!r}")
    origin = asked.get("origin", "")
    if origin not in ("", "build", "import"):
        raise InputError(f"origin is build or import, not {origin[:40]!r}")
    return Choice(
        text=asked.get("q", "").strip()[:_LONGEST_TEXT],
        first=integer(request, "from"),
        last=integer(request, "to"),
        level=level_of(request),
        origin=origin,
        order=order,
    )


def parameters(choice: Choice) -> Mapping[str, Any]:
    """What says the same choice in an address."""
    return {
        "q": choice.text,
        "from": choice.first,
        "to": choice.last,
        "level": choice.level.value if choice.level else "",
        "origin": choice.origin,
        "order": "" if choice.order == "proven" else choice.order,
    }


def totals(overview: Overview) -> dict[str, Any]:
    return {
        "papers": len(overview.lines),
        "techniques": overview.techniques,
        "levels": overview.totals,
        "years": overview.years,
    }
