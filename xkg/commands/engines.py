"""Creates a command's engine: this machine's processes, or a Ray cluster."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, TypedDict

from xkg.engine.engine import Engine
from xkg.engine.local import LocalEngine
from xkg.errors import ConfigError

MOST_PROCESSES = 64
EngineName = Literal["local", "ray"]


class EngineFields(TypedDict, total=False):
    """The engine's place and size, as in `engine_for`; by default one process of this machine."""

    engine: EngineName
    jobs: int
    address: str
    allow_public: bool


def engine_of(where: EngineFields) -> AbstractContextManager[Engine]:
    """See `engine_for`."""
    allow_public = where.get("allow_public", False)
    return engine_for(where.get("engine", "local"), where.get("jobs"), where.get("address"), allow_public=allow_public)


@contextmanager
def engine_for(
    name: EngineName, jobs: int | None = None, address: str | None = None, *, allow_public: bool = False
) -> Iterator[Engine]:
    """An engine with this number of `jobs` (None: one on this machine; in a cluster, its maximum). Raises `ConfigError`
    for an address without a cluster, and the errors of `RayEngine`."""
    if name == "local":
        if address is not None or allow_public:
            raise ConfigError("--address and --allow-public need --engine ray")
        if jobs is not None and jobs > MOST_PROCESSES:
            raise ConfigError(f"--jobs {jobs} are more than the {MOST_PROCESSES} processes that one machine may start")
        yield LocalEngine(jobs or 1)
        return
    from xkg.engine.ray_cluster import RayEngine

    with RayEngine(address, allow_public=allow_public) as engine:
        if jobs is not None:
            engine.jobs = jobs
        yield engine
