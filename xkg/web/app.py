"""Defines the routes for all pages, which `xkg serve --http` and `xkg explore` serve."""

import contextlib
import functools
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qs

import anyio.to_thread
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from xkg.config import Settings
from xkg.errors import InputError, XkgError
from xkg.serve.graphs import graphs_of, may_read, of_graph
from xkg.serve.http.app import Beside
from xkg.serve.http.limits import body_limit, gate
from xkg.serve.http.oauth import Access
from xkg.serve.http.tokens import Tokens
from xkg.serve.served import Served
from xkg.web.access.guard import SIGN_IN, Guard, Sessions, guarded_pages, own_posts_only, page_caller
from xkg.web.pages import builds, cypher, graph_map, neighbours, paper, search, technique
from xkg.web.site import SECURITY, STATIC, Handler, Site

log = logging.getLogger(__name__)

LARGEST_FORM = 32 * 1024
GRAPH = "xkg-graph"
"""Name of the cookie that stores which graph the reader chose."""
_ASSETS = {"style.css": "text/css", "pages.js": "text/javascript", "icon.svg": "image/svg+xml"}

_PAGES: dict[str, Handler] = {
    "/": graph_map.show,
    "/papers": graph_map.show_list,
    "/paper/{id:path}": paper.show,
    "/technique/{id:path}": technique.show,
    "/near/{id:path}": neighbours.show,
    "/search": search.show,
    "/cypher": cypher.show,
    "/cypher.csv": cypher.csv_file,
    "/builds": builds.show,
    "/builds/{job:int}": builds.show_job,
}


def pages(settings: Settings, served: Served, access: Access) -> Beside:
    """Returns the routes for all pages. Pages have the same authentication and limits as MCP."""
    jobs, runs = served.jobs, served.runs
    guard = Guard(settings, access, Sessions(settings.kg, Tokens(settings.kg)))
    graphs = graphs_of(served.service)
    sites = {
        name: Site(
            settings.model_copy(update={"kg": own.folder}),
            own,
            of_graph(jobs, name),
            guard,
            of_graph(runs, name),
            tuple(graphs),
        )
        for name, own in graphs.items()
    }
    site = next(iter(sites.values()))
    http = settings.serve.http
    guarded = [
        Middleware(guarded_pages, guard=guard, per_minute=http.per_minute),
        Middleware(gate, at_work=http.concurrency, waiting=http.queue),
    ]
    form = [Middleware(body_limit, most=LARGEST_FORM, seconds=http.request_seconds), Middleware(own_posts_only)]
    acting: dict[str, Handler] = {}
    if runs is not None:
        acting["/technique/{id:path}"] = technique.run
    if jobs is not None:
        acting |= {"/builds": builds.ask, "/builds/{job:int}/cancel": builds.cancel}
    routes: list[BaseRoute] = [
        *(Route(path, _in_thread(sites, page), methods=["GET"], middleware=guarded) for path, page in _PAGES.items()),
        *(
            Route(path, _in_thread(sites, page), methods=["POST"], middleware=[*form, *guarded])
            for path, page in acting.items()
        ),
        Route(SIGN_IN, _form(site, _sign_in), methods=["GET", "POST"], middleware=form),
        Route("/sign-out", _form(site, _sign_out), methods=["POST"], middleware=form),
        Route("/static/{name}", _static, methods=["GET"]),
    ]
    return Beside(routes, functools.partial(_warm, site))


def _warm(site: Site) -> None:
    """Draws the first map ahead of time, so that the first visitor does not have to wait. Errors are ignored, because
    the page will show them."""
    with contextlib.suppress(XkgError), site.service.snapshot() as snapshot:
        graph_map.first_drawing(site, snapshot)


def _in_thread(sites: Mapping[str, Site], handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Handles requests on a worker thread and renders errors as pages. A form's fields are stored in the request's
    state."""

    def respond(request: Request) -> Response:
        started = time.thread_time()
        scopes = page_caller(request).scopes
        may = [name for name in sites if may_read(scopes, [name])]
        asked = request.query_params.get("graph", "")
        chosen = next((name for name in (asked, request.cookies.get(GRAPH, "")) if name in may), may[0])
        site = sites[chosen]
        try:
            if asked and asked not in may:
                raise InputError(f"there is no graph {asked[:80]!r} here; choose one of {', '.join(may)}")
            response = handler(site, request)
        except XkgError as error:
            response = site.error(request, error)
        if asked == chosen and len(sites) > 1:
            response.set_cookie(GRAPH, chosen, httponly=True, samesite="lax")
        # Report the page's CPU time, because wall-clock time is meaningless on a busy machine.
        response.headers["server-timing"] = f"cpu;dur={1000 * (time.thread_time() - started):.1f}"
        return response

    async def answer(request: Request) -> Response:
        if request.method == "POST":
            request.state.fields = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
        return await anyio.to_thread.run_sync(respond, request)

    return answer


def _form(
    site: Site, handler: Callable[[Site, Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    """Handles a form on the event loop. Callers are anonymous, so error messages are only logged."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(site, request)
        except XkgError as error:
            log.error(str(error))
            return Response("sessions cannot be stored; see the server's log\n", 503, SECURITY)

    return answer


async def _sign_in(site: Site, request: Request) -> Response:
    if request.method == "GET":
        after = request.query_params.get("next", "/")
        return site.render(request, "sign-in.html", after=after, refused=False)
    fields = parse_qs((await request.body()).decode("utf-8", "replace"))
    after = fields.get("next", ["/"])[0]
    answer = await site.guard.sign_in(fields.get("token", [""])[0].strip(), after)
    return answer or site.render(request, "sign-in.html", 403, after=after, refused=True)


async def _sign_out(site: Site, request: Request) -> Response:
    return await site.guard.sign_out(request)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _ASSETS:
        return Response("there is no such file\n", 404)
    headers = {**SECURITY, "cache-control": "public, max-age=31536000, immutable"}
    return FileResponse(STATIC / name, headers=headers, media_type=_ASSETS[name])
