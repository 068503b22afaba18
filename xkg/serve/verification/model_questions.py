"""Asks the language model optional questions, with bounded waiting times.

A question that is not answered in time continues in the background. Its answer is stored (`xkg.llm.ledger`), so that
the same question can be answered immediately the next time. In the ledger, all questions on the same day (UTC) belong
to one paper, `serve 2026-08-01`, so `llm.max_cost` limits the cost per day."""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from xkg.config import LlmSettings
from xkg.errors import MissingKeyError, ModelUnavailableError, XkgError

if TYPE_CHECKING:  # these modules are loaded with the first question
    from xkg.llm.client import AnswerType, Call, LanguageModel
    from xkg.llm.prompt import Prompt

A = TypeVar("A", bound="AnswerType")
T = TypeVar("T")

BUSY_SECONDS = 0.5
"""How long to wait if too many callers are already waiting. A stored answer arrives within this time."""

PATIENCE_SECONDS = 8.0
"""How long to retry requests to a failing endpoint."""

MOST_OPEN = 32
"""Maximum number of concurrent questions."""

CLOSING_SECONDS = 10.0
"""How long `close` waits before running questions are aborted."""


_NO_KEY = "no API key for the language model is set on this machine"


class NoModelError(ModelUnavailableError):
    """Raised if no usable model is configured."""


@dataclass(frozen=True)
class Answered(Generic[A]):
    """An answer and the name of the model that gave it."""

    answer: A
    model: str


class Questions:
    """Asks the language model in `settings`, which is opened for the first question. Answers are stored in `folder`. At
    most `waiting` callers wait at the same time, so that a server's other calls are not blocked. Tools wait up to
    `wait_seconds` for an answer. Thread-safe."""

    def __init__(self, settings: LlmSettings, folder: Path, waiting: int, wait_seconds: float) -> None:
        self.wait_seconds, self.call_seconds = wait_seconds, settings.seconds
        self._settings = settings
        self._folder = folder
        self._patient = threading.BoundedSemaphore(waiting)
        self._turn = threading.Lock()
        self._opening = threading.Lock()
        self._opened: LanguageModel | None = None
        self._last_call = threading.local()
        self._threads: set[threading.Thread] = set()
        self._closed = False

    @property
    def unavailable(self) -> str:
        """The reason why no question can be asked, or ''."""
        try:
            self._model()
        except MissingKeyError:
            return _NO_KEY
        except NoModelError as error:
            return str(error)
        except XkgError:
            return ""
        return ""

    def begin(
        self, prompt: "Prompt", kind: type[A], inputs: Mapping[str, str], about: str, check: Callable[[A], str | None]
    ) -> "Future[Answered[A]]":
        """Asks the question, and returns a future that can be passed to `wait`. A stored answer is available
        immediately."""
        from xkg.llm.prices import model_of

        answer: Future[Answered[A]] = Future()
        try:
            model = self._model()
            stored = model.recall(prompt, kind, inputs, check=check)
            if stored is not None:
                answer.set_result(Answered(stored, model_of(self._settings, prompt.role)))
                return answer
            with self._turn:
                if len(self._threads) >= MOST_OPEN:
                    raise ModelUnavailableError(f"{MOST_OPEN} questions are already open; try again later")
        except XkgError as error:
            answer.set_exception(ModelUnavailableError(_NO_KEY) if isinstance(error, MissingKeyError) else error)
            return answer

        def work() -> None:
            try:
                asking = model.for_paper(f"serve {datetime.now(UTC).date()}")
                given = asking(prompt, kind, inputs, about=about, check=check)
                answer.set_result(Answered(given, self._last_call.model))
            except BaseException as error:  # re-raised by the waiting caller
                answer.set_exception(error)
            finally:
                with self._turn:
                    self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=work, name="question", daemon=True)
        with self._turn:
            self._threads.add(thread)
            thread.start()
        return answer

    def wait(self, answer: "Future[T]", until: float) -> T:
        """Returns the future's result if it is available by `until` (`time.monotonic`). Otherwise, raises
        `ModelUnavailableError`. Also raises any `XkgError` from asking the question."""
        patient = self._patient.acquire(blocking=False)
        left = max(0.0, until - time.monotonic())
        try:
            return answer.result(left if patient else min(left, BUSY_SECONDS))
        except TimeoutError:
            why = "no answer in time" if patient else "too many other callers are waiting"
            raise ModelUnavailableError(
                f"{self._settings.verifier_model or self._settings.model}: {why}; "
                "the model keeps working in the background; repeat the request in a minute"
            ) from None
        finally:
            if patient:
                self._patient.release()

    def close(self) -> None:
        """Aborts running questions, which raise `ModelUnavailableError`. No more questions can be asked."""
        with self._opening:
            self._closed = True
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()
        with self._turn:
            threads = [*self._threads]
        until = time.monotonic() + CLOSING_SECONDS
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _model(self) -> "LanguageModel":
        from xkg.llm.caller import CALLER
        from xkg.llm.client import LanguageModel
        from xkg.llm.endpoint import CLOSED

        with self._opening:
            if self._closed:
                raise ModelUnavailableError(CLOSED)
            if self._settings.model in ("none", CALLER):
                raise NoModelError("no language model is set on this machine")
            if self._opened is None:
                self._opened = LanguageModel(self._settings, self._folder, self._note, patience=PATIENCE_SECONDS)
            return self._opened

    def _note(self, call: "Call") -> None:
        """Records which model answered the current thread's last call."""
        self._last_call.model = call.model
