"""`xkg explore`, `xkg explore --save` and `xkg export --format html`: a graph for people. They need the extra `web`."""

import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from xkg.commands.graph.contents import ExportResult
from xkg.commands.graph.open import open_service, open_store
from xkg.config import Settings
from xkg.errors import InputError
from xkg.web.require_web import require_extra


def explore(
    settings: Settings, address: str, *, browser: bool, notify: Callable[[str], None], warn: Callable[[str], None]
) -> None:
    """Serves the pages of a graph at `address` until interrupted, and opens them in a browser. `notify` receives their
    address; `warn` is called if the graph is empty. Raises `ConfigError` without the extra `web`, and the errors of
    `serve_http`."""
    from xkg.commands.serve import http_app
    from xkg.serve.http.run import serve_http

    require_extra()
    with open_store(settings) as store, store.snapshot() as snapshot:
        if snapshot.generation == 0:
            warn(f"{store.place} holds no paper yet: the pages show what is built or imported there from now on")

    def bound(url: str) -> None:
        parts = urlsplit(url)
        pages = f"{parts.scheme}://{parts.netloc}/"
        notify(pages)
        if browser:
            webbrowser.open(pages)  # the socket already listens, so the browser waits for the first answer

    serve_http(settings, address, http_app, level="warning", bound=bound)


def report(settings: Settings, to: Path) -> None:
    """Writes the report on a graph. Raises `ConfigError` without the extra `web`, `InputError` if the file cannot be
    written."""
    require_extra()
    from xkg.web.report import report

    with open_service(settings) as service:
        _write(to, report(service, settings.llm))


def export_html(settings: Settings, papers: Sequence[str], to: Path) -> ExportResult:
    """Writes each of these papers (none: all) as an HTML file into the folder `to`. Raises `UnknownIdError`, and
    `ConfigError` and `InputError` like `report`."""
    require_extra()
    from xkg.build.stage_cache import folder_name
    from xkg.web.paper_file import paper_file

    files = []
    with open_service(settings) as service:
        with service.snapshot() as snapshot:
            chosen = papers or [line.id for line in snapshot.paper_lines()]
        for paper in chosen:
            identity, text = paper_file(service, paper)
            path = to / f"{folder_name(identity)}.html"
            _write(path, text)
            files.append(str(path))
    return ExportResult(files=tuple(files))


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): choose another --to") from error
