"""Builds a paper again and again, each time in a process of its own that may be killed: a command on a line of stdin,
what came of it on a line of stdout.

    python -m tests.killed_build KG PAPER REPOSITORY URL CONCURRENCY

`news` kills the build as soon as it tells of an event that no build before has told of, `after 0.3` after so many
seconds, `never` lets it end. The answer is `killed`, or `ended` with the exit code. Processes are forks of one that has
imported everything, so that a build begins at once. The events that it was killed at are listed in `KG/killed`.
"""

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
            _build(settings, paper, repository, Path(kg) / "killed" if how == "news" else None)
        if how == "after":
            time.sleep(float(value))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else f"ended {os.WEXITSTATUS(status)}", flush=True)


def _build(settings: Settings, paper: str, repository: str, killed: Path | None) -> None:
    known = set(killed.read_text().splitlines()) if killed and killed.exists() else set()

    def notify(event: object) -> None:
        told = _told(event)
        if killed is not None and told is not None and told not in known:
            with killed.open("a") as file:
                file.write(f"{told}\n")
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        build.build(settings, paper, repository, notify=notify)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


def _told(event: object) -> str | None:
    """An event by what it is about; None for an answer that was kept."""
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
