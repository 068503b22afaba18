"""Creates a command's engine, which is either a pool of local processes or a Ray cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from xkg.errors import ConfigError
from xkg.option import Option

if TYPE_CHECKING:
    from xkg.engine.engine import Engine

MOST_PROCESSES = 64


class EngineFields(TypedDict, total=False):
    """Where to run the work, and how much of it to run in parallel."""

    jobs: Annotated[
        int, Option("Number of papers or runs in parallel (default: 1; with --engine ray, as many as the nodes allow).")
    ]
    engine: Annotated[
        Literal["local", "ray"], Option("Where to run: in processes on this machine (default), or on a Ray cluster.")
    ]
    address: Annotated[str, Option("HOST:PORT of the Ray cluster's head, or auto (default: RAY_ADDRESS).")]
    allow_public: Annotated[bool, Option("Allow a Ray cluster with public internet addresses.")]


@contextmanager
def engine_of(where: EngineFields) -> "Iterator[Engine]":
    """Opens an engine with this number of `jobs`. The default is one job on this machine, or as many jobs as a cluster
    allows. Raises `ConfigError` if an address is set without a cluster. Also raises the errors of `RayEngine`."""
    address, jobs, allow_public = where.get("address"), where.get("jobs"), where.get("allow_public", False)
    if jobs is not None and jobs < 1:
        raise ConfigError(f"--jobs {jobs}: must be 1 or more")
    if where.get("engine", "local") == "local":
        from xkg.engine.local import LocalEngine

        if address is not None or allow_public:
            raise ConfigError("--address and --allow-public need --engine ray")
        if jobs is not None and jobs > MOST_PROCESSES:
            raise ConfigError(f"--jobs {jobs}: one machine runs at most {MOST_PROCESSES} processes")
        yield LocalEngine(jobs or 1)
        return
    from xkg.engine.ray_cluster import RayEngine

    with RayEngine(address, allow_public=allow_public) as engine:
        if jobs is not None:
            engine.jobs = jobs
        yield engine
