"""Implements `xkg serve`, which combines the graph, its MCP server, jobs and HTTP into one server. `python -m
xkg.commands.serve [--kg DIR]` serves the graph over stdio with the current settings."""

import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xkg.serve.allowed_folders import open_roots
from xkg.serve.graphs import of_each_graph, of_graph, open_graphs
from xkg.serve.served import Served
from xkg.serve.service import Service

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from xkg.config import Settings
    from xkg.serve.http.app import Pages
    from xkg.serve.jobs.jobs import Jobs
    from xkg.serve.running.callers_runs import CallersRuns
    from xkg.serve.served import PlanAblations


def serve_stdio(settings: "Settings") -> None:
    """Serves the configured graph over stdio until the client closes the connection. Raises `ConfigError` if roots are
    invalid or builds have no limits."""
    from xkg.serve.protocol.stdio import make_server

    roots = open_roots(settings.serve.roots)
    jobs = _jobs(settings, roots)
    if jobs is not None:
        end_with_process(jobs)
        jobs.start()
    service = open_graphs(settings)
    runs = _runs(settings, service)
    try:
        served = Served(service, roots, jobs, planner(service, roots), runs)
        make_server(served, client_roots=settings.serve.roots is None).run("stdio")
    finally:
        if jobs is not None:
            jobs.close()
        service.close()


def http_app(settings: "Settings", bound: str, url: str) -> "ASGIApp":
    """Returns the ASGI app for the configured graph. The server listens on the host `bound`, and clients reach it at
    `url`. Raises `ConfigError` if settings contradict each other."""
    from xkg.serve.http.app import make_app

    roots = open_roots(settings.serve.roots or ())
    service = open_graphs(settings)
    runs, jobs = _runs(settings, service), _jobs(settings, roots)
    served = Served(service, roots, jobs, planner(service, roots), runs, by_token=True)
    return make_app(settings, bound, url, served, _pages())


def planner(service: Service, roots: Sequence[Path]) -> "PlanAblations":
    """Returns the function that plans ablations for the MCP prompt. The language model has the same time limit as in
    tools."""

    def plan(paper: str, repository: Path | None) -> str:
        from xkg.agents.planning.ablations import plan_ablations

        seconds = service.questions().wait_seconds
        return str(plan_ablations(service, paper, repository=repository, roots=roots, wait_seconds=seconds))

    return plan


def _pages() -> "Pages | None":
    from xkg.web.require_web import has_extra

    if not has_extra():
        return None
    from xkg.web.app import pages

    return pages


def _jobs(settings: "Settings", roots: Sequence[Path]) -> "Jobs | None":
    """Returns the jobs of each graph, or None if callers may not start jobs."""
    if not (settings.serve.build.allowed or settings.serve.agents.allowed):
        return None
    from xkg.serve.jobs.jobs import Jobs

    return of_each_graph(settings, lambda _, own: Jobs(own, roots=roots))


def _runs(settings: "Settings", service: Service) -> "CallersRuns | None":
    """Returns the runs of each graph, or None if callers may not run scripts."""
    if not settings.serve.run.allowed:
        return None
    from xkg.serve.running.callers_runs import CallersRuns

    return of_each_graph(settings, lambda graph, own: CallersRuns(of_graph(service, graph), own))


def end_with_process(jobs: "Jobs") -> None:
    """Makes SIGTERM also end this process's builds."""
    waiting, signalled = os.pipe()

    def end() -> None:
        os.read(waiting, 1)
        jobs.close()
        os.kill(os.getpid(), signal.SIGTERM)

    def on_signal(number: int, _frame: object) -> None:
        # Do nothing else here, because the interrupted code may hold a lock that closing would wait for.
        signal.signal(number, signal.SIG_DFL)
        os.write(signalled, b".")

    threading.Thread(target=end, name="end", daemon=True).start()
    signal.signal(signal.SIGTERM, on_signal)


if __name__ == "__main__":
    import argparse

    from xkg.config import load

    parser = argparse.ArgumentParser(
        prog="python -m xkg.commands.serve", description="Serve a graph over MCP on stdio."
    )
    parser.add_argument("--kg", type=Path, help="the graph's folder")
    serve_stdio(load(kg=parser.parse_args().kg))
