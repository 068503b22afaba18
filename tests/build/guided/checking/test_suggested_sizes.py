"""Sizes of tests, by framework."""

from xkg.build.guided.checking.suggested_sizes import sizes_for, suggested_sizes


def test_each_framework_gets_what_costs_time_in_it() -> None:
    assert "JAX compiles" in sizes_for(["numpy", "ott"])
    assert "torch" in sizes_for(["torch", "numpy"])
    assert "JAX" not in sizes_for(["torch"])
    assert len(sizes_for(["torch", "jax"]).splitlines()) == 2
    assert sizes_for(["numpy"]).startswith("Arrays")
    assert suggested_sizes([], 45.5).endswith("A run is ended at its 45.5-second limit.")
