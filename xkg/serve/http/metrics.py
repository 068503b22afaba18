"""Prometheus metrics: counts, durations and sizes, but no request contents or callers."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
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
from xkg.operating_system import runs

disable_created_metrics()  # type: ignore[no-untyped-call]  # avoids an extra series per metric

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable for the folder with the workers' shared counts. prometheus_client reads this variable on
import."""

_UP = "Whether the graph can be opened and contains a paper."
SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """This process's metrics. If there are several workers, `text` returns their sums. `state` returns the current
    generation and its number of papers."""

    def __init__(self, state: Callable[[], tuple[int, int]]) -> None:
        own = CollectorRegistry()
        self.calls = Counter("xkg_calls", "Tool calls, by outcome.", ("tool", "outcome"), registry=own)
        self.seconds = Histogram("xkg_call_seconds", "Duration of calls.", ("tool",), registry=own, buckets=SECONDS)
        self.requests = Counter("xkg_http_requests", "HTTP requests, by response.", ("path", "status"), registry=own)
        self.rejected = Counter("xkg_rejected", "Rejected requests.", ("reason",), registry=own)
        self.in_flight = Gauge(
            "xkg_requests_in_flight", "HTTP requests in progress.", registry=own, multiprocess_mode="livesum"
        )
        self._registry = own
        folder = os.environ.get(SHARED)
        if folder:
            _forget_the_dead(Path(folder))
            self._registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
        self._registry.register(_Graph(state))

    def text(self) -> bytes:
        """Returns the metrics in Prometheus's text format. May open the graph, which can take a while."""
        return generate_latest(self._registry)


class _Graph(Collector):
    def __init__(self, state: Callable[[], tuple[int, int]]) -> None:
        self._state = state

    def collect(self) -> Iterator[GaugeMetricFamily]:
        with suppress(XkgError):
            generation, papers = self._state()
            yield GaugeMetricFamily("xkg_graph_up", _UP, value=1)
            yield GaugeMetricFamily("xkg_generation", "Current generation of the graph.", value=generation)
            yield GaugeMetricFamily("xkg_papers", "Papers in the graph.", value=papers)
            return
        yield GaugeMetricFamily("xkg_graph_up", _UP, value=0)

    def describe(self) -> list[Any]:
        return []  # called on registration, which must not open the graph


def _forget_the_dead(folder: Path) -> None:
    """Removes gauges left by killed workers."""
    for path in folder.glob("gauge_live*_*.db"):
        pid = path.stem.rpartition("_")[2]
        if pid.isdecimal() and not runs(int(pid)):
            multiprocess.mark_process_dead(int(pid))  # type: ignore[no-untyped-call]
