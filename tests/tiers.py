"""Divides the tests into two tiers. `make test` uses `--sample` to test every behaviour once, and `make test-all` runs
all tests.

Tests whose fixtures need a real service are in the second tier. Tests with the marker `product(why, *parameters)` are
also in the second tier. Cases of a test that differ only in the named parameters (or in any, if none is named) form a
set. One case of each set is also in the first tier. The selected case is the one whose id has the smallest digest. Each
run therefore selects the same case, and different sets select different values. With `product(why, every=True)`, no
case is in the first tier. The same applies to a parameter value that is marked."""

import hashlib
from collections import defaultdict
from collections.abc import Hashable

import pytest

SERVICES = {"browser", "neo4j_server"}
"""Fixtures that need Chromium or Neo4j."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sample", action="store_true", help="run one case of each set of tests marked as a product")


@pytest.hookimpl(trylast=True)  # run after the options that select tests
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("sample"):
        return
    sets: defaultdict[Hashable, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not _is_of_second_tier(item):
            sets[_set_of(item)].append(item)
    first = {min(cases, key=_digest) for cases in sets.values()}
    config.hook.pytest_deselected(items=[item for item in items if item not in first])
    items[:] = [item for item in items if item in first]


def _set_of(item: pytest.Item) -> Hashable:
    marks = list(item.iter_markers("product"))
    if not marks:
        return item.nodeid
    if not all(mark.args for mark in marks):
        raise pytest.UsageError(f"{item.nodeid}: say why it is in the second tier: product('why')")
    multiplied = {name for mark in marks for name in mark.args[1:]}
    values = item.callspec.params.items() if hasattr(item, "callspec") else ()
    kept = sorted((name, id(value)) for name, value in values if multiplied and name not in multiplied)
    return (item.nodeid.partition("[")[0], *kept)


def _is_of_second_tier(item: pytest.Item) -> bool:
    if not SERVICES.isdisjoint(getattr(item, "fixturenames", ())):
        return True
    if any(mark.kwargs.get("every") for mark in item.iter_markers("product")):
        return True
    return hasattr(item, "callspec") and any(mark.name == "product" for mark in item.callspec.marks)


def _digest(item: pytest.Item) -> bytes:
    return hashlib.blake2b(item.nodeid.encode()).digest()
