"""Builds papers in parallel on an engine, and publishes them."""

import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import NamedTuple

from xkg.commands.batch.build_papers import BuildPapers
from xkg.commands.batch.paper_list import ListedPaper
from xkg.commands.batch.publisher import Outcome, Publisher
from xkg.commands.claims import OtherFormError
from xkg.commands.published import BuildResult, Unpublished
from xkg.engine.engine import BegunAgain, Engine, Worker, WorkFailed, failure
from xkg.errors import LeaseHeldError

Event = tuple[ListedPaper, object]

_BETWEEN_TRIES = 10.0
_LONGEST_WAIT = 4 * 3600.0
"""The maximum duration of a build with a model, in seconds. A dead machine keeps its lease for 120 seconds
(`xkg.store.neo4j.leases`)."""


Turn = Callable[[ListedPaper], AbstractContextManager[bool]]
"""Keeps other machines from building a paper. Yields whether the paper still has to be built. Raises `LeaseHeldError`
if another machine is building it."""


class Ended(NamedTuple):
    """The outcome for a paper, and the duration of its build in seconds."""

    outcome: BuildResult | WorkFailed
    seconds: float


def build_side_by_side(
    builds: BuildPapers,
    engine: Engine,
    papers: Sequence[ListedPaper],
    ended: Callable[[ListedPaper, Ended], None],
    notify: Callable[[Event], None] = lambda _: None,
    turn: Turn = lambda _: nullcontext(True),
) -> tuple[str, ...]:
    """Builds papers, `engine.jobs` at a time, and publishes finished papers together while others are being built.
    Calls `ended` when a paper has been published or has failed, and `notify` for each of the paper's events. `ended`
    and `notify` are called from several threads, but only one thread at a time calls `ended`. If builds write directly
    to the graph, `ended` is called within the paper's `turn`. A paper that another machine is building is retried after
    all others. Returns notes for the user. Raises `NoWorkerError` if no paper can be built, and re-raises errors from
    `ended`. An interrupt ends all builds, but finished papers are still published."""
    notes: tuple[str, ...] = ()
    publisher = Publisher(builds.settings)
    try:
        if builds.settings.store.url is not None:
            # An earlier batch may have died before it added the edges between papers.
            publisher.connect()
        waited = 0.0
        while papers:
            again = _round(builds, engine, papers, publisher, ended, notify, turn, waited < _LONGEST_WAIT)
            if again and all(again.values()):
                builds.clock.sleep(_BETWEEN_TRIES)
                waited += _BETWEEN_TRIES
            papers = list(again)
        problem = publisher.finish()
        if problem is not None:
            notes = (f"citations between papers are not linked yet: {problem}",)
    finally:
        publisher.close()
    return notes


def _round(
    builds: BuildPapers,
    engine: Engine,
    papers: Sequence[ListedPaper],
    publisher: Publisher,
    ended: Callable[[ListedPaper, Ended], None],
    notify: Callable[[Event], None],
    turn: Turn,
    wait_for_held: bool,
) -> dict[ListedPaper, bool]:
    """Builds and publishes papers. Returns a dictionary whose keys are the papers to retry; a value is True if another
    machine has a lease on the paper."""
    waiting: queue.SimpleQueue[ListedPaper] = queue.SimpleQueue()
    for listed in papers:
        waiting.put(listed)
    again: dict[ListedPaper, bool] = {}
    built_count = itertools.count(1)
    lock = threading.Lock()
    stopped = threading.Event()
    errors: list[BaseException] = []

    def end(listed: ListedPaper, outcome: Outcome, seconds: float) -> None:
        if isinstance(outcome, OtherFormError):
            again[listed] = False
            return
        if not isinstance(outcome, BuildResult | WorkFailed):
            why = failure(outcome)
            outcome = WorkFailed(why.line, lasting=why.lasting)
        with _collected(errors, stopped), lock:
            ended(listed, Ended(outcome, seconds))

    def work(worker: Worker[ListedPaper, BuildResult | Unpublished]) -> None:
        with closing(worker), _collected(errors, stopped):
            while not stopped.is_set():
                try:
                    listed = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    with turn(listed) as is_wanted:
                        if is_wanted:
                            build(worker, listed)
                except LeaseHeldError as error:
                    held(listed, WorkFailed(str(error), held=True), 0.0)
                if next(built_count) == len(papers):
                    publisher.hurry()  # start publishing while the processes exit

    def build(worker: Worker[ListedPaper, BuildResult | Unpublished], listed: ListedPaper) -> None:
        started = time.monotonic()
        try:
            built = worker.run(listed, lambda event: notify((listed, event)))
        except WorkFailed as error:
            held(listed, error, _since(started))
            return
        seconds = _since(started)
        if isinstance(built, Unpublished):
            publisher.add(built, lambda outcome: end(listed, outcome, seconds))
        else:
            if built.published:
                publisher.connect()
            end(listed, built, seconds)

    def held(listed: ListedPaper, error: WorkFailed, seconds: float) -> None:
        if error.held and wait_for_held:
            notify((listed, BegunAgain(reason=str(error))))
            again[listed] = True
        elif not stopped.is_set():
            end(listed, error, seconds)

    workers = engine.workers(builds, min(engine.jobs, len(papers)))
    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        publisher.finish()
    finally:  # interrupts arrive here while threads are running
        stopped.set()
        for worker in workers:
            worker.stop()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    return again


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)


@contextmanager
def _collected(errors: list[BaseException], stopped: threading.Event) -> Iterator[None]:
    """Passes an error from one thread to the caller, and stops the other threads."""
    try:
        yield
    except BaseException as error:
        errors.append(error)
        stopped.set()
