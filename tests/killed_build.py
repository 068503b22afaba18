"""Builds a paper repeatedly, each time in a process that may be killed. Reads one command per line from stdin, and
writes one result per line to stdout.

    python -m tests.killed_build KG PAPER REPOSITORY URL CONCURRENCY

`events 5` kills the build at every fifth event that no earlier build has reported. `after 0.3` kills it after 0.3
seconds, and `never` lets it end. The result is `killed`, or `ended` with the exit code. The processes are forks of a
process that has imported everything, so that a build begins at once. `KG/events` lists each event once."""

import os
import signal
import sys
import time
from pathlib import Path

from tests.tiny_world import settings_for
from xkg.build.stage_cache import Progress, StageReport
from xkg.commands import build
from xkg.config import Settings
from xkg.llm.client import Call


def main(kg: str, paper: str, repository: str, url: str, concurrency: str) -> None:
    import httpx2  # noqa: F401
    import openai  # noqa: F401

    import xkg.build.guided.stages
    import xkg.build.pipeline
    import xkg.build.sources.arxiv
    import xkg.sandbox.packages.environments
    import xkg.store.local.store  # noqa: F401

    settings = settings_for(Path(kg), url, concurrency=int(concurrency))
    for line in sys.stdin:
        how, _, value = line.strip().partition(" ")
        child = os.fork()
        if child == 0:
            _build(settings, paper, repository, Path(kg) / "events", int(value) if how == "events" else 0)
        if how == "after":
            time.sleep(float(value))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else f"ended {os.WEXITSTATUS(status)}", flush=True)


def _build(settings: Settings, paper: str, repository: str, log: Path, every: int) -> None:
    """Runs a build, and kills it after every `every` new events, or never if `every` is 0."""
    known = set(log.read_text().splitlines()) if log.exists() else set()

    def notify(event: object) -> None:
        description = _description(event)
        if every and description is not None and description not in known:
            known.add(description)
            with log.open("a") as file:
                file.write(f"{description}\n")
            if len(known) % every == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        build.build(settings, paper, repository, notify=notify)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


def _description(event: object) -> str | None:
    """Returns the subject of an event, or None for a stored answer."""
    match event:
        case StageReport():
            return f"stage {event.name}"
        case Progress():
            return f"progress {event.done}"
        case Call(cached=False):
            return f"call {event.stage} {event.about} {event.input_tokens} {event.output_tokens}"
        case _:
            return None


if __name__ == "__main__":
    main(*sys.argv[1:])
