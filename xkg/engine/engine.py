"""The seam between work that comes in many items and the place where it is done."""

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
    """An item that could not be done; `lasting` where the same inputs will fail again, `held` where another machine
    does it just now."""

    def __init__(self, message: str, *, lasting: bool = False, held: bool = False) -> None:
        super().__init__(message)
        self.lasting, self.held = lasting, held


class NoWorkerError(XkgError):
    """No item can be done: a key is missing, a folder cannot be written, a setting cannot be used."""


class BegunAgain(Value):
    """An event: an item begins anew, since the machine that had it was lost, or another one has it just now."""

    reason: str


class Home(Protocol):
    """The machine that the work was started on, seen from another one."""

    def call(self, service: str, method: str, *arguments: object) -> Any:
        """Calls a method of one of `Work.services`. Raises what it raises."""
        ...

    def turn(self, place: str) -> AbstractContextManager[None]:
        """Holds one of the places of that name (`Work.places`) of the whole cluster; waits for it."""
        ...

    def paced(self, name: str, seconds: float) -> AbstractContextManager[None]:
        """A turn that no other of that name overlaps, in the whole cluster, with `seconds` between two of them."""
        ...


@dataclass(frozen=True)
class Site:
    """Where a worker is. `notify` sends an event to who started the work. On another machine `folder` is for what can
    be made again, shared by the workers there, and `home` leads back; on the same one both are None."""

    notify: Callable[[object], None] = lambda _: None
    folder: Path | None = None
    home: Home | None = None


class Work(Protocol[Item_contra, Result_co]):
    """What is done with each item. Work, items, results and events are pickled, and hold no key: a machine reads its
    own.

    `gpus` is how many GPUs of a cluster an item needs, `imports` the modules that its processes import. `services` are
    opened once, on the machine that started the work, for workers elsewhere (`Home.call`); `places` are limits of the
    whole cluster (`Home.turn`)."""

    @property
    def name(self) -> str:
        """A name for the folder that other machines have for it."""
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
        """A function that does one item after another. Raises `XkgError` where this machine can do none."""
        ...


class Worker(Protocol[Item_contra, Result_co]):
    """Does items, one at a time."""

    def run(self, item: Item_contra, notify: Callable[[object], None]) -> Result_co:
        """Raises `WorkFailed`, and `NoWorkerError` where every other item would fail likewise."""
        ...

    def stop(self) -> None:
        """Ends the item that is being done, from another thread than the one that waits for it, and does no other."""
        ...

    def close(self) -> None: ...


class Engine(Protocol):
    """A place where work is done. `jobs` is how many items it does at a time by default."""

    @property
    def jobs(self) -> int: ...

    def workers(self, work: Work[Item, Result], count: int) -> Sequence[Worker[Item, Result]]:
        """`count` workers, each for a thread of its own; they are started by their first item."""
        ...


class Failure(NamedTuple):
    """Why an item, or every item, could not be done, in one line; `held` where another machine does it just now."""

    line: str
    lasting: bool = False
    of_all: bool = False
    held: bool = False

    def raised(self) -> XkgError:
        if self.of_all:
            return NoWorkerError(self.line)
        return WorkFailed(self.line, lasting=self.lasting, held=self.held)


def failure(error: Exception, *, of_all: bool = False) -> Failure:
    """What an error means for an item, or for every item."""
    if not isinstance(error, XkgError):
        return Failure(f"a fault of xkg itself ({_where(error)})")
    lasting = isinstance(error, InputError) and not isinstance(error, UnreachableError)
    return Failure(str(error), lasting, of_all, held=isinstance(error, LeaseHeldError))


@dataclass
class Opened(Generic[Item, Result]):
    """Work that is opened by its first item, and the result of each item, or why there is none."""

    work: Work[Item, Result]
    site: Site
    _context: AbstractContextManager[Callable[[Item], Result]] | None = field(default=None, init=False)
    _function: Callable[[Item], Result] | None = field(default=None, init=False)

    def open(self) -> Failure | None:
        """Opens the work now; why it cannot be."""
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
