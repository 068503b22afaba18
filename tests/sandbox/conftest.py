from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from xkg.sandbox import Job, Limits, Outcome
from xkg.sandbox.bubblewrap import BubblewrapRunner

SMALL = Limits(seconds=10, memory_mb=300, disk_mb=8, processes=24, output_kb=64)

Attack = Callable[..., Outcome]


@pytest.fixture
def attack() -> Attack:
    """Runs hostile source in the box, under small limits that keywords change."""

    def run(source: str, *arguments: str, site: Path | None = None, **limits: float) -> Outcome:
        job = Job(
            arguments=("attack.py", *arguments),
            files={"attack.py": dedent(source)},
            site=site,
            limits=SMALL.model_copy(update=limits),
        )
        return BubblewrapRunner().run(job)

    return run


@pytest.fixture(params=["as started", "user namespace"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's box and the ordinary user's are built differently, and both must hold."""
    if request.param == "user namespace":
        monkeypatch.setattr("xkg.sandbox.bubblewrap.outside_uid", lambda **_: None)
