"""Runs items on a Ray cluster. Each item is a task that takes one sandbox slot on a node. Services and cluster-wide
limits are actors on the node that started the work, next to the graph.

If a node is lost, its task is restarted on another node. The slots of the lost attempt are released. If its process is
still running, services and limits refuse calls from it."""

import contextlib
import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self

from xkg.engine.addresses import host_and_port, require_private, require_reachable
from xkg.engine.engine import BegunAgain, Failure, Item, NoWorkerError, Result, Work, WorkFailed
from xkg.errors import ConfigError, MissingExtraError, UnreachableError

if TYPE_CHECKING:
    from xkg.engine.ray_node import Job

_TRIES = 3
_CHECK_SECONDS = 120.0
_POLL_SECONDS = 5.0
_NO_NODES_SECONDS = 60.0
# A lost builder's lease expires within two minutes (`xkg.store.neo4j.leases`).
_LEASE_SECONDS = 150.0
_AUTOMATIC = "auto"
# A process keeps its memory after a large item, but starting a new one takes as long as building a small paper.
_ITEMS_OF_A_PROCESS = 200


class RayEngine:
    """A connection to a Ray cluster that includes this machine. `jobs` is the number of slots on the cluster's nodes.

    The constructor raises `MissingExtraError` if Ray is not installed, `ConfigError` for an unsafe address or
    environment, and `UnreachableError` if the cluster cannot be reached."""

    def __init__(self, address: str | None, *, allow_public: bool = False) -> None:
        ray = _ray()
        given = address or os.environ.get("RAY_ADDRESS")
        if not given:
            raise ConfigError("the ray engine needs a Ray cluster's head; set --address HOST:PORT, or RAY_ADDRESS")
        if os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
            raise ConfigError(
                "Ray runs any code from anyone who can reach it; set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH here, "
                "and before `ray start` on every node"
            )
        self._allow_public = allow_public
        if given != _AUTOMATIC:
            host, port = host_and_port(given)
            if not allow_public:
                require_private(host)
            require_reachable(host, port)
        self._connect(ray, given)
        try:
            self.jobs = self._slots(ray)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Disconnects from the cluster, which ends this process's work there."""
        _ray().shutdown()

    def workers(self, work: Work[Item, Result], count: int) -> "Sequence[RayWorker[Item, Result]]":
        """See `Engine.workers`. Raises `NoWorkerError` if a node cannot run items because it has a different version of
        xkg, no sandbox or no key."""
        if not count:
            return []
        job = self._job(work)
        self._check_nodes(job)
        ray = _ray()
        shared = ray.put(job)
        if work.gpus and not ray.cluster_resources().get("GPU", 0):
            raise NoWorkerError("no node in the Ray cluster offers a GPU; start nodes with --num-gpus")
        return [RayWorker(job, shared, work.gpus) for _ in range(count)]

    def _connect(self, ray: Any, address: str) -> None:
        try:
            # Omit runtime_env so that none of the driver's environment is sent.
            ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
        except Exception as error:
            raise UnreachableError(
                f"the Ray cluster at {address} cannot be joined ({_reason(error)}): RAY_AUTH_MODE and the token must "
                "match its nodes, and this machine must be a node (ray start --address=…)"
            ) from error

    def _slots(self, ray: Any) -> int:
        from xkg.engine.ray_node import SLOT

        nodes = [node for node in ray.nodes() if node["Alive"]]
        if not self._allow_public:
            for node in nodes:
                require_private(node["NodeManagerAddress"])
        slots = int(sum(node["Resources"].get(SLOT, 0) for node in nodes))
        if not slots:
            raise ConfigError(
                f"no node in the Ray cluster offers a sandbox; start nodes that may run code from papers with `ray "
                f"start --resources='{{\"{SLOT}\": 2}}' …`, where 2 is the number of items that the node runs at a time"
            )
        return slots

    def _job(self, work: Work[Any, Any]) -> "Job":
        from xkg.engine.limits import Limits
        from xkg.engine.ray_node import Job, Service, source_version

        ray = _ray()
        here = _on_node(ray, ray.get_runtime_context().get_node_id())
        actor = {"num_cpus": 0, "scheduling_strategy": here}
        service = ray.remote(Service)
        services = {name: service.options(**actor).remote(make) for name, make in work.services.items()}
        limits = ray.remote(Limits).options(**actor, max_concurrency=100_000).remote(dict(work.places))
        return Job(uuid.uuid4().hex, work, services, limits, source_version())

    def _check_nodes(self, job: "Job") -> None:
        from xkg.engine.ray_node import SLOT, check_node

        ray = _ray()
        nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get(SLOT, 0)]
        check = ray.remote(check_node)
        asked = {
            check.options(num_cpus=0, max_retries=0, scheduling_strategy=_on_node(ray, node["NodeID"])).remote(
                job
            ): node
            for node in nodes
        }
        done, late = ray.wait(list(asked), num_returns=len(asked), timeout=_CHECK_SECONDS)
        problems = [f"node {asked[task]['NodeManagerAddress']} did not reply in {_CHECK_SECONDS:g} s" for task in late]
        for task in done:
            try:
                problem = ray.get(task)
            except Exception as error:
                address = asked[task]["NodeManagerAddress"]
                problem = f"node {address} cannot run xkg: {_reason(error)}; install xkg[ray] there, in the same Python"
            if problem:
                problems.append(problem)
        if problems:
            more = f" (and {len(problems) - 1} more nodes)" if len(problems) > 1 else ""
            raise NoWorkerError(f"{problems[0]}{more}")


class RayWorker(Generic[Item, Result]):
    """Runs one item at a time, anywhere in the cluster."""

    def __init__(self, job: "Job", shared: Any, gpus: int = 0) -> None:
        from xkg.engine.ray_node import SLOT, run_item

        self._job, self._shared = job, shared
        resources = {SLOT: 1}
        needs = {"num_cpus": 1, "resources": resources, **({"num_gpus": gpus} if gpus else {})}
        task = _ray().remote(**needs, max_retries=0, max_calls=_ITEMS_OF_A_PROCESS)
        self._task = task(run_item).options(num_returns="streaming")
        self._stopped = threading.Event()
        self._running: Any = None

    def run(self, item: Item, notify: Callable[[object], None]) -> Result:
        """See `Worker.run`."""
        lost, until = 0, 0.0
        while True:
            attempt = uuid.uuid4().hex
            try:
                value = self._attempt(item, attempt, notify)
            except _LostError as error:
                self._give_up(attempt)
                lost += 1
                if self._stopped.is_set() or lost >= _TRIES:
                    raise WorkFailed(f"{error}, {lost} times; run again to continue") from error
                until = time.monotonic() + _LEASE_SECONDS
                notify(BegunAgain(reason=str(error)))
                continue
            if isinstance(value, Failure):
                if value.held and time.monotonic() < until and not self._stopped.wait(_POLL_SECONDS):
                    continue  # the lease of the lost builder has not expired yet
                raise value.raised()
            return value

    def stop(self) -> None:
        self._stopped.set()
        running = self._running
        if running is not None:
            with contextlib.suppress(Exception):
                _ray().cancel(running, force=True)

    def close(self) -> None:
        self._running = None

    def _attempt(self, item: Item, attempt: str, notify: Callable[[object], None]) -> Result | Failure:
        ray = _ray()
        events = self._running = self._task.remote(self._shared, item, attempt)
        errors = ray.exceptions
        lost = (errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError)
        alone_since: float | None = None
        while not self._stopped.is_set():
            try:
                ready, _ = ray.wait([events], timeout=_POLL_SECONDS)
                if not ready:
                    alone_since = self._alone(alone_since)
                    continue
                batch = ray.get(next(events))
            except lost as error:
                raise _LostError(f"the node or process that ran it was lost ({_reason(error)[:100]})") from error
            except errors.OutOfMemoryError as error:
                return Failure(f"Ray ended the task because its node ran out of memory ({_reason(error)[:200]})")
            except StopIteration as error:
                raise _LostError("the task ended without a result") from error
            except errors.RayError as error:
                return Failure(f"Ray could not run the task: {_reason(error)}")
            for kind, value in batch:
                if kind == "result":
                    return value  # type: ignore[no-any-return]
                notify(value)
        return Failure("stopped")

    def _alone(self, since: float | None) -> float | None:
        """Returns when nodes stopped offering slots, or None if a node still offers one. Raises `NoWorkerError` after
        one minute."""
        from xkg.engine.ray_node import SLOT

        if _ray().cluster_resources().get(SLOT, 0):
            return None
        now = time.monotonic()
        if since is not None and now - since > _NO_NODES_SECONDS:
            raise NoWorkerError(
                "no remaining node in the Ray cluster offers a sandbox; start one, and run again to continue"
            )
        return since or now

    def _give_up(self, attempt: str) -> None:
        ray = _ray()
        ray.get([actor.over.remote(attempt) for actor in (*self._job.services.values(), self._job.limits)])


class _LostError(Exception):
    """Raised when an attempt's node or process dies."""


def _ray() -> Any:
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingExtraError("ray", "the ray engine") from error
    return ray


def _on_node(ray: Any, node: str) -> Any:
    return ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)


def _reason(error: Exception) -> str:
    from xkg.text.unicode import one_line

    return one_line(str(error).strip() or type(error).__name__)[:400]
