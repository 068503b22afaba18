"""Runs tests that took long in an earlier run first, longest first. All other tests stay in random order. Only short
tests are left at the end, so workers rarely wait for each other."""

from collections import Counter
from typing import Any

import pytest

LONG = 5.0
"""A test is long if it takes more than this many seconds."""
_KEY = "xkg/seconds_of_long_tests"


class LongestFirst:
    """A pytest plugin that stores its records in pytest's cache. The controlling process sends the records to the
    workers, because all workers must use the same order."""

    def __init__(self, config: pytest.Config) -> None:
        self._cache = getattr(config, "cache", None)
        self._is_worker = hasattr(config, "workerinput")
        if self._is_worker:
            self._earlier: dict[str, float] = config.workerinput[_KEY]  # type: ignore[attr-defined]
        else:
            self._earlier = self._cache.get(_KEY, {}) if self._cache else {}
        self._seconds: Counter[str] = Counter()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_KEY] = self._earlier

    @pytest.hookimpl(trylast=True)  # run after pytest-randomly
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self._earlier.get(item.nodeid, 0.0), reverse=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration  # type: ignore[assignment]

    def pytest_sessionfinish(self) -> None:
        if self._cache and not self._is_worker:
            others = {test: seconds for test, seconds in self._earlier.items() if test not in self._seconds}
            long = {test: seconds for test, seconds in self._seconds.items() if seconds >= LONG}
            self._cache.set(_KEY, {**others, **long})
