"""Defines the interface between work items and the engine that runs them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from xkg.errors import InputError, LeaseHeldError, UnreachableError, XkgError
from xkg.value import Value

Item_contra = TypeVar("Item_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)
Item = TypeVar("Item")
Result = TypeVar("Result")


class WorkFailed(XkgError):
    """Raised when an item fails. `lasting` means that the same inputs will fail again. `held` means that another
    machine is working on the item."""

    def __init__(self, message: str, *, lasting: bool = False, held: bool = False) -> None:
        super().__init__(message)
        self.lasting, self.held = lasting, held


class NoWorkerError(XkgError):
    """Raised when every item would fail because a key is missing, a folder is not writable, or a setting is invalid."""


class BegunAgain(Value):
    """Signals that an item has restarted because its machine was lost or another machine was working on it."""

    reason: str


class Home(Protocol):
    """The machine that started the work, as seen from another machine."""

    def call(self, service: str, method: str, *arguments: object) -> Any:
        """Calls a method of one of `Work.services`, and re-raises its errors."""
        ...

    def turn(self, place: str) -> AbstractContextManager[None]:
        """Acquires a slot under a named cluster-wide limit (`Work.places`), and releases it when the context ends."""
        ...

    def paced(self, name: str, seconds: float) -> AbstractContextManager[None]:
        """Waits for an exclusive, cluster-wide turn with this name, and holds it until the context ends. The turn
        starts at least `seconds` after the previous turn."""
        ...


@dataclass(frozen=True)
class Site:
    """Where a worker runs. `notify` sends an event to the machine that started the work. On the machine that started
    the work, `folder` and `home` are None. On other machines, `folder` is a cache shared by all workers on the machine,
    and `home` makes calls to the machine that started the work."""

    notify: Callable[[object], None] = lambda _: None
    folder: Path | None = None
    home: Home | None = None


class Work(Protocol[Item_contra, Result_co]):
    """The work to do for each item. Work, items, results and events are pickled, and must not contain keys, because
    each machine reads its own keys.

    `gpus` is the number of cluster GPUs per item, and `imports` lists modules that the processes import. `services` are
    opened once on the machine that started the work, and called from other machines (`Home.call`). `places` are
    cluster-wide limits (`Home.turn`)."""

    @property
    def name(self) -> str:
        """Returns the name of the cache folder on other machines."""
        ...

    @property
    def gpus(self) -> int: ...

    @property
    def imports(self) -> tuple[str, ...]: ...

    @property
    def services(self) -> Mapping[str, Callable[[], object]]: ...

    @property
    def places(self) -> Mapping[str, int]: ...

    def open(self, site: Site) -> AbstractContextManager[Callable[[Item_contra], Result_co]]:
        """Yields a function that runs an item. Raises `XkgError` if this machine cannot run any items."""
        ...


class Worker(Protocol[Item_contra, Result_co]):
    """Runs items, one at a time."""

    def run(self, item: Item_contra, notify: Callable[[object], None]) -> Result_co:
        """Runs an item and returns its result. Raises `WorkFailed`, or `NoWorkerError` if every other item would also
        fail."""
        ...

    def stop(self) -> None:
        """Cancels the running item and stops the worker. Call this method from another thread."""
        ...

    def close(self) -> None: ...


class Engine(Protocol):
    """Runs work items. `jobs` is the default number of items to run in parallel."""

    @property
    def jobs(self) -> int: ...

    def workers(self, work: Work[Item, Result], count: int) -> Sequence[Worker[Item, Result]]:
        """Returns `count` workers, each for one thread. A worker starts when it receives its first item."""
        ...


class Failure(NamedTuple):
    """Why an item, or every item, failed. `line` is the reason, in one line. `held` means that another machine is
    working on the item."""

    line: str
    lasting: bool = False
    of_all: bool = False
    held: bool = False

    def raised(self) -> XkgError:
        if self.of_all:
            return NoWorkerError(self.line)
        return WorkFailed(self.line, lasting=self.lasting, held=self.held)


def failure(error: Exception, *, of_all: bool = False) -> Failure:
    """Converts an error into a failure of one item or of all the work."""
    if not isinstance(error, XkgError):
        return Failure(f"a bug in xkg ({_where(error)})")
    lasting = isinstance(error, InputError) and not isinstance(error, UnreachableError)
    return Failure(str(error), lasting, of_all, held=isinstance(error, LeaseHeldError))


@dataclass
class Opened(Generic[Item, Result]):
    """Opens work when the first item runs, and returns errors as failures."""

    work: Work[Item, Result]
    site: Site
    _context: AbstractContextManager[Callable[[Item], Result]] | None = field(default=None, init=False)
    _function: Callable[[Item], Result] | None = field(default=None, init=False)

    def open(self) -> Failure | None:
        """Opens the work immediately. Returns the failure, if any."""
        try:
            self._opened()
        except Exception as error:
            return failure(error, of_all=True)
        return None

    def do(self, item: Item) -> Result | Failure:
        try:
            return self._opened()(item)
        except Exception as error:
            return failure(error, of_all=self._function is None)

    def _opened(self) -> Callable[[Item], Result]:
        if self._function is None:
            context = self.work.open(self.site)
            self._function, self._context = context.__enter__(), context
        return self._function

    def close(self) -> None:
        context, self._context, self._function = self._context, None, None
        if context is not None:
            context.__exit__(None, None, None)


def _where(error: Exception) -> str:
    import traceback

    from xkg.text.unicode import one_line

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{one_line(f'{type(error).__name__}: {error}')[:300]}, {last.name}:{last.lineno}"
