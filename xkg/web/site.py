"""Renders all pages for a graph, including error pages, and holds the state that the pages share."""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from cachetools import LRUCache
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from xkg.config import Settings
from xkg.errors import EmptyGraphError, InputError, UnknownIdError, XkgError
from xkg.model import Level
from xkg.serve.graphs import may_read
from xkg.serve.jobs.authority import NotAllowedError
from xkg.serve.jobs.jobs import Jobs
from xkg.serve.service import Service
from xkg.store.unknown_id import LIST_PAPERS
from xkg.text.address import repository_address
from xkg.text.plural import plural as plural
from xkg.version import __version__
from xkg.web.access.guard import Guard, page_caller
from xkg.web.paper_sources import PaperSources
from xkg.web.rendering.formulas import flowing, formulas, inline_formulas
from xkg.web.rendering.long_texts import finalized

if TYPE_CHECKING:  # only needed for pages that run scripts
    from xkg.serve.running.callers_runs import CallersRuns

STATIC = Path(__file__).parent / "static"

SECURITY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
PAGE = {**SECURITY, "cache-control": "private, no-cache", "vary": "cookie, authorization"}


class Site:
    """The state shared by all pages for a graph. `jobs` is None if builds are not allowed, and `runs` is None if
    scripts are not allowed. `graphs` lists the names of all served graphs."""

    def __init__(
        self,
        settings: Settings,
        service: Service,
        jobs: Jobs | None,
        guard: Guard,
        runs: "CallersRuns | None" = None,
        graphs: Sequence[str] = (),
    ) -> None:
        self.graphs = graphs
        self.settings = settings
        self.service = service
        self.jobs = jobs
        self.runs = runs
        self.guard = guard
        self.sources = PaperSources(service.folder, service.parsers)
        self.drawings: LRUCache[object, Any] = LRUCache(64)

    def render(self, request: Request, name: str, /, status: int = 200, **values: Any) -> Response:
        """Renders a template as a page."""
        html = (
            environment()
            .get_template(name)
            .render(
                values,
                path=request.url.path,
                graph=self.settings.store.url or self.service.folder.name,
                others=self._others(request),
                theme=_theme(request),
                signed_in=self.guard.required(),
                page=name.removesuffix(".html"),
            )
        )
        # A paper may contain a lone surrogate, which cannot be encoded.
        return HTMLResponse(html.encode("utf-8", "replace"), status, PAGE)

    def _others(self, request: Request) -> list[str]:
        scopes, own = page_caller(request).scopes, self.service.folder.resolve().name
        return [name for name in self.graphs if name != own and may_read(scopes, [name])]

    def error(self, request: Request, error: XkgError) -> Response:
        """Renders an error as a page. If the graph is empty, the page explains how to add papers."""
        kinds = ((UnknownIdError, 404), (NotAllowedError, 403), (InputError, 400))
        status = next((status for kind, status in kinds if isinstance(error, kind)), 503)
        empty = isinstance(error, EmptyGraphError)
        message = str(error).replace(LIST_PAPERS, "see the list of papers")
        return self.render(request, "error.html", 200 if empty else status, message=message, empty=empty)


Handler = Callable[[Site, Request], Response]


@cache
def environment() -> Environment:
    """Returns the template environment. Long values are cut, and values that are not markup are escaped."""
    made = Environment(
        loader=PackageLoader("xkg.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "formulas": formulas,
        "flowing": flowing,
        "inline_formulas": inline_formulas,
        "short": shortened,
        "count": lambda number: f"{number:,}",
    }
    made.globals |= {
        "paper_href": lambda paper: href("paper", paper),
        "technique_href": lambda technique: href("technique", technique),
        "near_href": lambda node: href("near", node),
        "query": query,
        "asset": asset,
        "rung": rung,
        "Level": Level,
        "LEVELS": tuple(Level),
        "version": __version__,
        "plural": plural,
        "lines_href": lines_href,
        "authors": authors,
    }
    return made


class Page(NamedTuple):
    """One page of a list. `first` and `last` are 1-based row numbers, out of `total`."""

    rows: Sequence[Any]
    number: int
    pages: int
    first: int
    last: int
    total: int


def paged(rows: Sequence[Any], number: int, size: int) -> Page:
    """Returns page `number` (1-based), or the last page if there are fewer pages."""
    pages = max(1, math.ceil(len(rows) / size))
    number = max(1, min(number, pages))
    start = (number - 1) * size
    part = rows[start : start + size]
    return Page(part, number, pages, start + 1 if part else 0, start + len(part), len(rows))


def integer(request: Request, name: str, default: int | None = None) -> int | None:
    """Parses an integer in the URL. Raises `InputError` if the value is not an integer."""
    text = request.query_params.get(name, "").strip()
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise InputError(f"{name} must be a whole number, not {text[:40]!r}")
    return int(text)


def level_of(request: Request) -> Level | None:
    text = request.query_params.get("level", "")
    if text not in (*Level, ""):
        raise InputError(f"level must be one of {', '.join(Level)}, not {text[:40]!r}")
    return Level(text) if text else None


def href(kind: str, node_id: str) -> str:
    """Returns the permanent link to a node's page."""
    return f"/{kind}/{quote(node_id, safe=':', errors='surrogatepass')}"


def query(path: str, parameters: Mapping[str, Any], **changed: Any) -> str:
    """Returns `path` with the updated parameters, omitting parameters without a value."""
    known = {name: value for name, value in {**parameters, **changed}.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(known, doseq=True, errors='surrogatepass')}" if known else path


@cache
def asset(name: str) -> str:
    """Returns a static file's URL, which changes with the file's content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?{digest}"


def rung(level: Level | str, *, word: bool = True) -> Markup:
    """Renders a level as a five-rung ladder, with the level's name and the keys that attest it."""
    own = Level(level.partition(", ")[0])
    bars = Markup("").join(
        Markup('<rect class="{}" x="{}" y="{}" width="3" height="{}" rx="1"/>').format(
            "on" if number < own.rank else "off", 4 * (number - 1), 9 - 1.6 * number, 3 + 1.6 * number
        )
        for number in range(1, len(Level) - 1)
    )
    name = "no code" if own is Level.NONE else level
    return Markup(
        '<span class="rung level-{}"{}><svg viewBox="0 0 20 13" width="20" height="13" aria-hidden="true">{}</svg>{}'
        "</span>"
    ).format(
        own.value,
        Markup("") if word else Markup(' title="{}"').format(name),
        bars,
        name if word else Markup('<span class="unseen">{}</span>').format(name),
    )


def shortened(text: str, limit: int) -> str:
    """Shortens a text to a single line, without cutting inside a formula."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    start = flat[: limit - 1].rsplit(" ", 1)[0]
    if start.count("$") % 2:
        start = start[: start.rindex("$")].rstrip()
    return start + "…"


def authors(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (" et al." if len(names) > most else "")


_HOSTS = {
    "github.com": "blob/{}/{}#L{}-L{}",
    "gitlab.com": "-/blob/{}/{}#L{}-{}",
    "codeberg.org": "src/commit/{}/{}#L{}-L{}",
}


def lines_href(url: str, commit: str | None, path: str, first: int, last: int) -> str:
    """Returns the URL of the given lines at a commit on the repository's host, or '' if the host is unknown."""
    repository = repository_address(url) if url.startswith("https://") else None
    if repository is None or repository.server not in _HOSTS or not commit:
        return ""
    end = _HOSTS[repository.server].format(quote(commit, errors="replace"), quote(path, errors="replace"), first, last)
    return f"{repository.url}/{end}"


def _theme(request: Request) -> str:
    chosen = request.cookies.get("xkg-theme", "")
    return chosen if chosen in ("light", "dark") else ""
