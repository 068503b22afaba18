"""Checks that the key of a stored proof covers only the code and inputs that determine the proof."""

from pathlib import Path

import grimp

import xkg
from xkg.build.stored_proofs import PROVING


def test_the_version_of_proofs_covers_all_that_determines_one() -> None:
    """Covers every module that proofs and runners import, directly or indirectly. Modules whose changes cannot affect a
    proof are excluded. Settings are excluded because they reach a proof through its limits, environment and runner."""
    graph = grimp.build_graph("xkg", cache_dir=None)
    used = graph.find_upstream_modules("xkg.sandbox.evidence", as_package=True)
    used |= graph.find_upstream_modules("xkg.sandbox.select") | {"xkg.sandbox.select"}
    proving = {f"xkg.{place.removesuffix('.py').replace('/', '.')}" for place in PROVING}
    outside = {name for name in used if not any(name == top or name.startswith(f"{top}.") for top in proving)}
    of_settings = {f"xkg.text.{name}" for name in ("address", "arxiv_id", "doi")}
    assert outside - {"xkg"} == {"xkg.clock", "xkg.config", "xkg.errors", "xkg.operating_system"} | of_settings
    assert all((Path(xkg.__file__).parent / place).exists() for place in PROVING)
