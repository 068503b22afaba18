"""The language model behind one door: a prompt and its inputs in, a validated object out."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, TypeVar
from weakref import WeakValueDictionary

from xkg.config import LlmSettings
from xkg.errors import AnswerError, BudgetError, ConfigError, ModelUnavailableError, StoreError
from xkg.llm.credentials import access
from xkg.llm.endpoint import CLOSED, PATIENCE, Endpoint, Message, Reply
from xkg.llm.ledger import Asked, Ledger, answer_key
from xkg.llm.parse_answer import UnusableError, answer_schema, read_answer
from xkg.llm.prices import TYPICAL_OUTPUT, Prices, model_of, models_of, tokens
from xkg.llm.prompt import Prompt
from xkg.unicode import printable_line
from xkg.value import Value

_ATTEMPTS = 4  # the question, twice again with what was wrong, and once afresh to the expert model
_LATE = 2
_SILENT = 4
_REST = 30.0
_SHOWN = 300
_CUT_SHOWN = 2000
_AGAIN = {
    "ok": "That answer cannot be used: {complaint}\n\nAnswer the question again, in full and in the form asked for.",
    "cut": "That answer was cut off at the length limit. Answer again, in full and in fewer words.",
    "refused": "That is no answer in the form asked for. Answer in that form; what cannot be said stays empty there.",
}


class AnswerType(Value):
    """Base of all answers. Every field is required, as structured output wants it; what may be absent is `None` or
    empty."""


A = TypeVar("A", bound=AnswerType)


def accept(_: AnswerType) -> str | None:
    """Holds nothing against an answer of the right type."""
    return None


class Ask(Protocol):
    """Asks a language model for one paper.

    `about` names what the question is about (a technique's name), for the ledger and for messages. `check` says what is
    wrong with an answer of the right type, in words for the model, or None; what is wrong is asked again.

    Raises `AnswerError` where no attempt gave an answer that can be used, `ModelUnavailableError` and `BudgetError`
    where no further question makes sense. Safe to call from several threads.
    """

    def __call__(
        self,
        prompt: Prompt,
        kind: type[A],
        inputs: Mapping[str, str],
        *,
        about: str = "",
        check: Callable[[A], str | None] = accept,
    ) -> A: ...


@dataclass(frozen=True)
class Call:
    """A question that was answered, or was not. `cached`: nothing was asked, since the answer was kept. Dollars are
    None where the model's price is unknown."""

    paper: str
    stage: str
    about: str
    model: str
    input_tokens: int
    output_tokens: int
    dollars: float | None
    seconds: float
    cached: bool


class LanguageModel:
    """The models that the settings name, for one graph; answers and what they took are kept in its folder.

    An answer that cannot be used is asked for again in the same conversation, with what is wrong with it, twice, then
    once afresh of `expert_model`. Answers are kept by what was asked (`xkg.llm.ledger`): no question is paid for twice,
    in no later build either, unless none of its answers could be used. `notify` hears of each call as it ends, from the
    thread that asked.

    Raises at once `ModelUnavailableError` without a key, `ConfigError` where the settings cannot hold, and `StoreError`
    where answers cannot be kept. Safe to use from several threads.
    """

    def __init__(
        self,
        settings: LlmSettings,
        folder: Path,
        notify: Callable[[Call], None] = lambda _: None,
        *,
        patience: float = PATIENCE,
    ) -> None:
        if settings.model == "none":
            raise ConfigError("llm.model is none: name a model, such as o4-mini, to build with one")
        self._settings = settings
        self._notify = notify
        self._prices = Prices(settings.prices)
        if settings.max_cost is not None:
            self._prices.require(models_of(settings))
        where = access(settings)
        self._at = where.at
        self._ledger = Ledger(folder, self._prices)
        self._endpoint = Endpoint(where, seconds=settings.seconds, patience=patience)
        self._slots = threading.BoundedSemaphore(settings.concurrency)
        self._changed = threading.Condition()
        self._under_way: Counter[str] = Counter()  # calls by paper
        self._asking: WeakValueDictionary[bytes, threading.Lock] = WeakValueDictionary()  # while anyone asks it
        self._silent = 0  # calls without an answer in time since the last answer
        self._down: tuple[float, str] | None = None
        self._closed = False

    def for_paper(self, paper_id: str) -> Ask:
        """What asks for one paper: its budget holds, and the ledger names it."""

        def ask(
            prompt: Prompt,
            kind: type[A],
            inputs: Mapping[str, str],
            *,
            about: str = "",
            check: Callable[[A], str | None] = accept,
        ) -> A:
            self._require_open()
            try:
                return self._ask(paper_id, prompt, kind, inputs, about, check)
            except StoreError:
                self._require_open()  # closed meanwhile, and the ledger with it
                raise

        return ask

    def recall(
        self, prompt: Prompt, kind: type[A], inputs: Mapping[str, str], *, check: Callable[[A], str | None] = accept
    ) -> A | None:
        """The answer to this question where the first attempt at it is kept and can be used: at once, nothing is asked
        and nothing entered in the ledger."""
        self._require_open()
        system, user = prompt.render(inputs)
        opening: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        kept = self._ledger.answer(answer_key(model_of(self._settings, prompt.role), opening, answer_schema(kind), 0))
        if kept is None or kept.ending != "ok":
            return None
        try:
            answer = read_answer(kept.text, kind)
        except UnusableError:
            return None
        return answer if check(answer) is None else None

    def identity(self, *prompts: Prompt) -> dict[str, str]:
        """What the output of a stage depends on: the identity of each prompt, and the model that answers it."""
        return {prompt.identity: model_of(self._settings, prompt.role) for prompt in prompts}

    def spent(self, paper_id: str) -> float | None:
        """Dollars for a paper, all its builds together; None where a price is unknown."""
        return self._ledger.spent(paper_id)

    def close(self) -> None:
        """Ends calls under way at once, from any thread: who waits for one gets `ModelUnavailableError`."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        self._endpoint.close()
        with self._changed:
            self._changed.wait_for(lambda: not self._under_way.total(), timeout=10)
        self._ledger.close()

    def __enter__(self) -> LanguageModel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(
        self,
        paper: str,
        prompt: Prompt,
        kind: type[A],
        inputs: Mapping[str, str],
        about: str,
        check: Callable[[A], str | None],
    ) -> A:
        system, user = prompt.render(inputs)
        opening: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        schema = answer_schema(kind)
        usual, expert = model_of(self._settings, prompt.role), model_of(self._settings, "expert_model")
        keys: list[bytes] = []
        talk, late, attempt, complaint = opening, 0, 0, ""
        while attempt < _ATTEMPTS and late < _LATE:
            attempt += 1
            last = attempt == _ATTEMPTS
            model, talk = (expert, opening) if last else (usual, talk)
            # Afresh to the same model is the same question, and shall not have the same answer.
            key = answer_key(model, talk, schema, int(last and expert == usual))
            role = "expert_model" if last else prompt.role
            asked = Asked(paper, prompt.stage, prompt.name, about, model, role, attempt)
            reply, fresh = self._reply(asked, key, talk, schema)
            keys.append(key)
            if reply.ending == "late":
                late, complaint = late + 1, reply.text
                continue
            if reply.ending == "barred":  # asked again it would only be longer
                complaint = reply.text
                attempt = _ATTEMPTS if last or expert == usual else _ATTEMPTS - 1
                continue
            if reply.ending == "ok":
                try:
                    answer = read_answer(reply.text, kind)
                except UnusableError as error:
                    complaint = str(error)
                    if fresh and error.shapeless:
                        self._endpoint.distrust(model)
                else:
                    objection = check(answer)
                    if objection is None:
                        return answer
                    complaint = objection
                self._ledger.reject(key)
            else:
                complaint = "it was cut off at the length limit" if reply.ending == "cut" else f"refused: {reply.text}"
            said = reply.text if reply.ending != "cut" else f"{reply.text[:_CUT_SHOWN]} […]"
            again = _AGAIN[reply.ending].format(complaint=complaint)
            talk = [*talk, {"role": "assistant", "content": said or "(nothing)"}, {"role": "user", "content": again}]
        self._ledger.forget(keys)
        subject = f"{prompt.stage}, {_one_line(about)}" if about else prompt.stage
        raise AnswerError(
            f"{subject}: no usable answer after {len(keys)} attempts, the last: {_one_line(complaint)}; another "
            "llm.model or llm.expert_model may do better"
        )

    def _reply(self, asked: Asked, key: bytes, talk: list[Message], schema: Mapping[str, object]) -> tuple[Reply, bool]:
        """The answer, and whether it was asked for now. Who asks the same at the same time waits for it."""
        with self._changed:
            alone = self._asking.setdefault(key, threading.Lock())
        with alone:
            kept = self._ledger.answer(key)
            if kept is not None:
                self._ledger.reuse(asked, key)
                self._tell(asked, kept, cached=True)
                return kept, False
            with self._slots:
                return self._paid(asked, key, talk, schema), True

    def _paid(self, asked: Asked, key: bytes, talk: list[Message], schema: Mapping[str, object]) -> Reply:
        self._require_up()
        call = self._begun(asked, talk)
        start = time.monotonic()
        try:
            reply = self._endpoint.complete(asked.model, talk, schema)
            kept = self._ledger.end(call, asked, key, reply)
        except ModelUnavailableError as error:
            if self._closed:  # it may be billed: it stays open in the ledger
                raise
            self._ledger.fail(call, asked, time.monotonic() - start)
            line = f"{asked.stage}: {error}"
            self._down = (time.monotonic() + _REST, line)
            raise ModelUnavailableError(line) from None
        finally:
            with self._changed:
                self._under_way[asked.paper] -= 1
                self._changed.notify_all()
        self._tell(asked, reply, cached=False)
        with self._changed:
            self._silent = self._silent + 1 if reply.ending == "late" else 0
            silent = self._silent
        if silent >= _SILENT:
            raise ModelUnavailableError(
                f"{asked.stage}: {self._at} gave no answer to {silent} calls running, in "
                f"{self._settings.seconds:g} s each: check llm.base_url, or raise llm.seconds"
            )
        return kept

    def _begun(self, asked: Asked, talk: list[Message]) -> int:
        """The number of a call in the ledger. Calls of the paper that are under way may turn out cheaper than they were
        estimated: the budget is spent only when it is so without them."""
        sent = sum(tokens(message["content"]) for message in talk)
        dollars = self._prices.dollars(asked.model, sent, 0, TYPICAL_OUTPUT)
        with self._changed:
            while True:
                self._require_open()
                try:
                    call = self._ledger.begin(asked, dollars, self._settings.max_cost)
                except BudgetError:
                    if not self._under_way[asked.paper]:
                        raise
                    self._changed.wait()
                else:
                    self._under_way[asked.paper] += 1
                    return call

    def _require_open(self) -> None:
        if self._closed:
            raise ModelUnavailableError(CLOSED)

    def _require_up(self) -> None:
        """What was found down a moment ago is not asked again by everyone who waited meanwhile."""
        if self._down is not None and time.monotonic() < self._down[0]:
            raise ModelUnavailableError(self._down[1])

    def _tell(self, asked: Asked, reply: Reply, *, cached: bool) -> None:
        counts = (0, 0, 0) if cached else (reply.input_tokens, reply.cached_tokens, reply.output_tokens)
        self._notify(
            Call(
                paper=asked.paper,
                stage=asked.stage,
                about=asked.about,
                model=asked.model,
                input_tokens=counts[0],
                output_tokens=counts[2],
                dollars=0.0 if cached else self._prices.dollars(asked.model, *counts),
                seconds=0.0 if cached else reply.seconds,
                cached=cached,
            )
        )


def _one_line(text: str) -> str:
    line = printable_line(text)
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} …"
