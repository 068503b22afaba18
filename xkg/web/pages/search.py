"""Shows the search results that agents receive, with scores and related techniques. Verified results include the
model's reasons."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from xkg.attestations.trust import trusted
from xkg.errors import XkgError
from xkg.serve.search.filters import Filters
from xkg.web.access.guard import is_own
from xkg.web.site import Site, integer, level_of

MOST = 50
FIRST = 10
_LONGEST = 4000


def show(site: Site, request: Request) -> Response:
    asked = request.query_params
    text = asked.get("q", "").strip()[:_LONGEST]
    k = min(integer(request, "k", FIRST) or FIRST, MOST)
    wants = asked.get("verify") == "1"
    # Model calls cost money, so links on other sites must not trigger them.
    verify = wants and (is_own(request) or "authorization" in request.headers)
    level = level_of(request)
    fields: dict[str, Any] = {
        "q": text,
        "level": level.value if level else "",
        "language": asked.get("language", "")[:40],
        "packages": asked.get("packages", "")[:200],
        "attested_by": asked.get("attested_by", "")[:200],
        "papers": asked.get("papers", "")[:400],
        "from": integer(request, "from"),
        "to": integer(request, "to"),
        "with_code": asked.get("with_code", ""),
        "verify": "1" if wants else "",
    }
    answer, error = None, ""
    if text:
        try:
            chosen = Filters.of(
                papers=_listed(fields["papers"]),
                years=(fields["from"], fields["to"]),
                level=level,
                packages=_listed(fields["packages"]),
                language=fields["language"].strip() or None,
                with_code=fields["with_code"] == "1",
                attested_by=fields["attested_by"].strip() or None,
            )
            answer = site.service.search(text, k, filters=chosen, verify=verify)
        except XkgError as problem:
            error = str(problem)
    return site.render(
        request, "search.html", 400 if error else 200, answer=answer, error=error, fields=fields, k=k, most=MOST,
        asked_elsewhere=wants and not verify, trusted_keys=tuple(trusted().names.values()),
    )  # fmt: skip


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()][:20]
