"""Implements `xkg explore` and `xkg explore --save`, which show a graph as web pages. Requires the `web` extra."""

import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from xkg.commands.graph.contents import write_page
from xkg.commands.graph.open import open_service, open_store
from xkg.config import Settings
from xkg.web.require_web import require_extra


def explore(
    settings: Settings, address: str, *, browser: bool, notify: Callable[[str], None], warn: Callable[[str], None]
) -> None:
    """Serves a graph's pages at `address` until interrupted, and opens them in a browser. `notify` receives the URL.
    Calls `warn` if the graph is empty. Raises `ConfigError` if the `web` extra is not installed, and the same errors as
    `serve_http`."""
    from xkg.commands.serve import http_app
    from xkg.serve.http.run import serve_http

    require_extra()
    with open_store(settings) as store, store.snapshot() as snapshot:
        if snapshot.generation == 0:
            warn(f"{store.place} has no papers yet: the pages show what you build or import from now on")

    def bound(url: str) -> None:
        parts = urlsplit(url)
        pages = f"{parts.scheme}://{parts.netloc}/"
        notify(pages)
        if browser:
            webbrowser.open(pages)  # the socket is already listening, and the browser waits for the first response

    serve_http(settings, address, http_app, level="warning", bound=bound)


def report(settings: Settings, to: Path) -> None:
    """Writes a report about a graph. Raises `ConfigError` if the `web` extra is not installed, and `InputError` if the
    file cannot be written."""
    require_extra()
    from xkg.web.saved_pages import report

    with open_service(settings) as service:
        write_page(to, report(service, settings.llm))
