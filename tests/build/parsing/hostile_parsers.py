"""Provides parsers with small limits. Any file can make these parsers crash."""

from xkg.build.parsing.parsers import Parsers
from xkg.sandbox.isolation.confined_worker import Bounds


class HostileParsers(Parsers):
    def __init__(self, step_seconds: float = 1) -> None:
        small = Bounds(step_seconds=step_seconds, seconds=max(120, step_seconds), memory_mb=512)
        super().__init__(small, small, ("tests.build.parsing.hostile_tasks",))
