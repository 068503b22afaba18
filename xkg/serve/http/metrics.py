"""What Prometheus is told: counts, durations and sizes, never what was asked or by whom."""

import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    multiprocess,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from xkg.errors import XkgError

disable_created_metrics()  # type: ignore[no-untyped-call]  # a series more for each, which nobody reads

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Where workers keep their counts together; prometheus_client looks at it when it is first imported."""

BEGINNING = 40
"""So often the counts of a worker that starts are tried again."""

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """The counts of this process; with several workers `text` tells those of all together. `state` gives the generation
    in force and its papers."""

    def __init__(self, state: Callable[[], tuple[int, int]]) -> None:
        own = CollectorRegistry()
        self.calls = Counter("xkg_calls", "Calls of tools, by outcome.", ("tool", "outcome"), registry=own)
        self.seconds = Histogram("xkg_call_seconds", "Duration of calls.", ("tool",), registry=own, buckets=SECONDS)
        self.requests = Counter("xkg_http_requests", "HTTP requests, by answer.", ("path", "status"), registry=own)
        self.rejected = Counter("xkg_rejected", "Requests and connections refused.", ("reason",), registry=own)
        self.in_flight = Gauge(
            "xkg_requests_in_flight", "HTTP requests now.", registry=own, multiprocess_mode="livesum"
        )
        self.connections = Gauge("xkg_connections", "Open connections.", registry=own, multiprocess_mode="livesum")
        self._told = own
        folder = os.environ.get(SHARED)
        if folder:
            _forget_the_dead(Path(folder))
            self._told = CollectorRegistry()
            multiprocess.MultiProcessCollector(self._told)  # type: ignore[no-untyped-call]
        self._told.register(_Graph(state))

    def refuse(self, reason: str) -> None:
        self.rejected.labels(reason).inc()

    def text(self) -> bytes:
        """Prometheus' text format. Asks the graph, so it may take as long as opening that."""
        for _ in range(BEGINNING):
            try:
                return generate_latest(self._told)
            except struct.error:  # a worker that just starts has made its file, and written nothing yet
                time.sleep(0.05)
        return generate_latest(self._told)


class _Graph(Collector):
    def __init__(self, state: Callable[[], tuple[int, int]]) -> None:
        self._state = state

    def collect(self) -> Iterator[GaugeMetricFamily]:
        try:
            generation, papers = self._state()
        except XkgError:
            yield GaugeMetricFamily("xkg_graph_up", "Whether the graph can be opened and holds a paper.", value=0)
            return
        yield GaugeMetricFamily("xkg_graph_up", "Whether the graph can be opened and holds a paper.", value=1)
        yield GaugeMetricFamily("xkg_generation", "Generation of the graph in force.", value=generation)
        yield GaugeMetricFamily("xkg_papers", "Papers in the graph.", value=papers)

    def describe(self) -> list[Any]:
        return []  # registering asks for no graph


def _forget_the_dead(folder: Path) -> None:
    """What workers that were killed had open counts no more."""
    for path in folder.glob("gauge_live*_*.db"):
        pid = path.stem.rpartition("_")[2]
        if pid.isdecimal() and not _alive(int(pid)):
            multiprocess.mark_process_dead(int(pid))  # type: ignore[no-untyped-call]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
