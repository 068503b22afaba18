"""Asks language models questions. The client takes a prompt and its inputs, and returns a validated object."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

from xkg.clock import CLOCK, Clock
from xkg.config import LlmSettings
from xkg.errors import AnswerError, BudgetError, ConfigError, ModelUnavailableError, StoreError
from xkg.llm.chat_completions import PATIENCE
from xkg.llm.endpoint import CLOSED, Endpoint, Reply, Request
from xkg.llm.endpoints import endpoints, reports_dollars
from xkg.llm.ledger import Ledger, Question, answer_key
from xkg.llm.parse_answer import UnusableError, answer_schema, read_answer
from xkg.llm.prices import TYPICAL_OUTPUT, Prices, model_of, models_of, tokens
from xkg.llm.prompt import Prompt, Role, shown_later
from xkg.llm.request import Message
from xkg.text.unicode import printable_line
from xkg.value import Value

_TRIES, _EXPERT_TRIES = 3, 1  # one question and two retries, then one try with the expert model
_MOST_LATE = 2
_BARRED = "barred: "
_MOST_SILENT = 4
_OUTAGE_SECONDS = 30.0
_LONGEST_LINE = 300
_QUOTED_CUT = 2000
_NO_MORE = "it asks to see more, which is no longer possible: answer with `open` and `search` empty"
_RETRIES = {
    "ok": "That answer cannot be used: {complaint}\n\nAnswer the question again, in full and in the requested form.",
    "cut": "That answer was cut off at the length limit. Answer again, in full and in fewer words.",
    "refused": "That answer does not have the requested form. Answer in that form; leave a field empty if unknown.",
}


class AnswerType(Value):
    """Base class for all answers. Structured output requires every field. A missing value is `None` or empty."""


A = TypeVar("A", bound=AnswerType)


class More(NamedTuple):
    """Data that the model asked to see before it answers. Asking for data is not a mistake, so the conversation
    continues with it."""

    text: str


def accept(_: AnswerType) -> str | None:
    """Accepts every answer."""
    return None


class Tier(NamedTuple):
    """A model's role, and how often the model may be asked in one conversation."""

    role: Role
    tries: int


class Answered(NamedTuple, Generic[A]):
    """An answer, the role of the model that answered, and the number of calls to the expert model."""

    answer: A
    role: Role
    expert_calls: int


class Ask(Protocol):
    """Asks a language model questions about one paper.

    `about` is the subject of the question (such as a technique), for the ledger and messages. `check` receives an
    answer of the right type and returns None or a complaint phrased for the model. After a complaint, the question is
    asked again. If `check` returns `More`, the model is shown the data and asked again, but only once per conversation.

    Raises `AnswerError` if no attempt produces a usable answer. Raises `ModelUnavailableError` or `BudgetError` if
    further questions would also fail. Safe to call from several threads."""

    def __call__(
        self,
        prompt: Prompt,
        kind: type[A],
        inputs: Mapping[str, str],
        *,
        about: str = "",
        check: Callable[[A], str | More | None] = accept,
    ) -> A: ...


@dataclass(frozen=True)
class Call:
    """A finished call. If `cached` is set, the answer came from the cache and no request was sent. `dollars` is None if
    the model's price is unknown."""

    paper: str
    stage: str
    about: str
    model: str
    input_tokens: int
    output_tokens: int
    dollars: float | None
    seconds: float
    cached: bool

    def __str__(self) -> str:
        if self.cached:
            return f"the stored answer for {printable_line(self.about)[:60]}"
        cost = "" if self.dollars is None else f", ${self.dollars:.4f}"
        return f"{self.model} answered a question about {printable_line(self.about)[:60]} in {self.seconds:.1f} s{cost}"


class LanguageModel:
    """The configured models, for one graph. Answers and costs are stored in the graph's folder.

    After an unusable answer, the client explains the mistake and asks again, up to twice in the same conversation. The
    last attempt is a new conversation with `expert_model`. Usable answers are cached by question (`xkg.llm.ledger`), so
    no build pays twice for the same answer. `notify` receives each finished call, in the thread that made it.

    The constructor raises `ModelUnavailableError` if a key is missing, `ConfigError` if settings contradict each other,
    and `StoreError` if answers cannot be stored. Safe to use from several threads."""

    def __init__(
        self,
        settings: LlmSettings,
        folder: Path,
        notify: Callable[[Call], None] = lambda _: None,
        *,
        patience: float = PATIENCE,
        ledger: Ledger | None = None,
        turn: Callable[[], AbstractContextManager[object]] | None = None,
        once: Callable[[bytes], AbstractContextManager[object]] = lambda _: nullcontext(),
        without_key: str = "",
        clock: Clock = CLOCK,
    ) -> None:
        """`ledger` defaults to the ledger in `folder`. `turn` limits concurrent calls; by default, there are at most
        `settings.concurrency` calls at a time. `once` returns a lock for calls with the same key, across all processes
        that share the ledger. `without_key` tells the user how to proceed without a key."""
        if settings.model == "none":
            raise ConfigError("llm.model is none; to build with a model, set llm.model, for example to o4-mini")
        self._settings = settings
        self._notify = notify
        self._prices = Prices(settings.prices)
        if settings.max_cost is not None or settings.max_total_cost is not None:
            self._prices.require({model for model in models_of(settings) if not reports_dollars(model)})
        self._endpoints: Mapping[str, Endpoint] = endpoints(settings, folder, without_key, patience, clock)
        self._ledger = ledger or Ledger(folder, self._prices)
        slots = threading.BoundedSemaphore(settings.concurrency)
        self._turn = turn or (lambda: slots)
        self._once = once
        self._changed = threading.Condition()
        self._under_way: Counter[str] = Counter()  # in-flight calls per paper
        self._asking: WeakValueDictionary[bytes, threading.Lock] = WeakValueDictionary()  # locks for pending questions
        self._silent = 0  # calls that timed out since the last answer
        self._down: tuple[float, str] | None = None
        self._closed = False

    def for_paper(self, paper_id: str) -> Ask:
        """Returns a function that asks within one paper's budget and records its calls for that paper."""

        def ask(
            prompt: Prompt,
            kind: type[A],
            inputs: Mapping[str, str],
            *,
            about: str = "",
            check: Callable[[A], str | More | None] = accept,
        ) -> A:
            tiers = [Tier(prompt.role, _TRIES), Tier("expert_model", _EXPERT_TRIES)]
            if prompt.search:
                tiers = [tier for tier in tiers if self.searches(tier.role)]
            return self.ask_cascade(paper_id, prompt, kind, inputs, tiers, about=about, check=check).answer

        return ask

    def ask_cascade(
        self,
        paper_id: str,
        prompt: Prompt,
        kind: type[A],
        inputs: Mapping[str, str],
        tiers: Sequence[Tier],
        *,
        temperature: float | None = None,
        about: str = "",
        check: Callable[[A], str | More | None] = accept,
    ) -> Answered[A]:
        """Like `Ask`, but tries the models in `tiers` in order, each in a new conversation. `temperature` is sent if
        the model accepts it."""
        self._require_open()
        try:
            return self._answer(paper_id, prompt, kind, inputs, about, check, tiers, temperature)
        except StoreError:
            self._require_open()  # the client and its ledger may have been closed in the meantime
            raise

    def recall(
        self,
        prompt: Prompt,
        kind: type[A],
        inputs: Mapping[str, str],
        *,
        check: Callable[[A], str | More | None] = accept,
    ) -> A | None:
        """Returns the stored first answer to this question if it is usable. No request is sent, and nothing is
        recorded."""
        self._require_open()
        system, user = prompt.render(inputs)
        opening: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        stored = self._ledger.answer(answer_key(model_of(self._settings, prompt.role), opening, answer_schema(kind), 0))
        if stored is None or stored.ending != "ok":
            return None
        try:
            answer = read_answer(stored.text, kind)
        except UnusableError:
            return None
        return answer if check(answer) is None else None

    def searches(self, role: Role) -> bool:
        """Returns whether the model for a role can search the web."""
        return self._endpoints[model_of(self._settings, role)].searches

    def identity(self, *prompts: Prompt) -> dict[str, str]:
        """Returns the part of a stage's cache key that depends on prompts: the prompts' identities, and the models that
        answer them."""
        return {prompt.identity: model_of(self._settings, prompt.role) for prompt in prompts}

    def spent(self, paper_id: str) -> float | None:
        """Returns the dollars spent on all builds of a paper, or None if a price is unknown."""
        return self._ledger.spent(paper_id)

    def close(self) -> None:
        """Cancels in-flight calls, which raise `ModelUnavailableError` immediately. Can be called from any thread."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        for endpoint in {id(each): each for each in self._endpoints.values()}.values():
            endpoint.close()
        with self._changed:
            self._changed.wait_for(lambda: not self._under_way.total(), timeout=10)
        self._ledger.close()

    def __enter__(self) -> LanguageModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(
        self,
        paper: str,
        prompt: Prompt,
        kind: type[A],
        inputs: Mapping[str, str],
        about: str,
        check: Callable[[A], str | More | None],
        tiers: Sequence[Tier],
        temperature: float | None,
    ) -> Answered[A]:
        system, user = prompt.render(inputs)
        opening: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        schema = answer_schema(kind)
        keys: list[bytes] = []
        timeouts, attempt, experts, complaint = 0, 0, 0, ""
        models = [model_of(self._settings, tier.role) for tier in tiers]
        for number, (tier, model) in enumerate(zip(tiers, models, strict=True)):
            if complaint.startswith(_BARRED) and model in models[:number]:
                continue
            # If the same model is asked again in a new conversation, it must not get the cached answer.
            draw = models[:number].count(model)
            messages = opening
            failed, looked = 0, False
            while failed < tier.tries and timeouts < _MOST_LATE:
                attempt, experts = attempt + 1, experts + (tier.role == "expert_model")
                key = answer_key(model, messages, schema, draw, temperature)
                question = Question(paper, prompt.stage, prompt.name, about, model, tier.role, attempt)
                request = Request(
                    model, messages, schema, temperature, key, prompt.stage, prompt.name, about, prompt.search
                )
                reply, fresh = self._reply(question, request)
                keys.append(key)
                failed += 1
                if reply.ending == "late":
                    timeouts, complaint = timeouts + 1, reply.text
                    continue
                if reply.ending == "barred":  # a retry would only make the question longer
                    complaint = f"{_BARRED}{reply.text}"
                    break
                if reply.ending == "ok":
                    try:
                        answer = read_answer(reply.text, kind)
                    except UnusableError as error:
                        complaint = str(error)
                        if fresh and error.shapeless:
                            self._endpoints[model].distrust(model)
                    else:
                        objection = check(answer)
                        if objection is None:
                            return Answered(answer, tier.role, experts)
                        if isinstance(objection, More) and not looked:
                            failed, looked = failed - 1, True
                            messages = _continued(messages, reply.text, shown_later(objection.text))
                            continue
                        complaint = _NO_MORE if isinstance(objection, More) else objection
                    self._ledger.reject(key)
                else:
                    complaint = (
                        "it was cut off at the length limit" if reply.ending == "cut" else f"refused: {reply.text}"
                    )
                quoted = reply.text if reply.ending != "cut" else f"{reply.text[:_QUOTED_CUT]} […]"
                retry = _RETRIES[reply.ending].format(complaint=complaint)
                messages = _continued(messages, quoted, retry)
        complaint = complaint.removeprefix(_BARRED)
        self._ledger.forget(keys)
        subject = f"{prompt.stage}, {_one_line(about)}" if about else prompt.stage
        raise AnswerError(
            f"{subject}: no usable answer after {len(keys)} attempts, the last: {_one_line(complaint)}; a different "
            "llm.model or llm.expert_model may work better"
        )

    def _reply(self, question: Question, request: Request) -> tuple[Reply, bool]:
        """Returns the answer, and whether it is new. Concurrent calls with the same question wait for a single
        request."""
        with self._changed:
            turn = self._asking.setdefault(request.key, threading.Lock())
        with turn, self._once(request.key):
            stored = self._ledger.answer(request.key)
            if stored is not None:
                self._ledger.reuse(question, request.key)
                self._report(question, stored, cached=True)
                return stored, False
            with self._turn():
                return self._send(question, request), True

    def _send(self, question: Question, request: Request) -> Reply:
        self._require_up()
        endpoint = self._endpoints[question.model]
        call = self._begin(question, request.messages)
        start = time.monotonic()
        try:
            reply = endpoint.complete(request)
            stored = self._ledger.end(call, question, request.key, reply)
        except ModelUnavailableError as error:
            if self._closed:  # the call may be billed, so it stays open in the ledger
                raise
            self._ledger.fail(call, question, time.monotonic() - start)
            line = f"{question.stage}: {error}"
            self._down = (time.monotonic() + _OUTAGE_SECONDS, line)
            raise ModelUnavailableError(line) from None
        finally:
            with self._changed:
                self._under_way[question.paper] -= 1
                self._changed.notify_all()
        self._report(question, reply, cached=False)
        with self._changed:
            self._silent = self._silent + 1 if reply.ending == "late" else 0
            silent = self._silent
        if silent >= _MOST_SILENT:
            raise ModelUnavailableError(
                f"{question.stage}: {endpoint.at} did not answer {silent} calls in a row, within "
                f"{self._settings.seconds:g} s each; {endpoint.remedy}"
            )
        return stored

    def _begin(self, question: Question, messages: Sequence[Message]) -> int:
        """Records a new call in the ledger and returns its number. If the budget is exceeded only because of the
        estimates for in-flight calls, waits for those calls, which may turn out cheaper."""
        sent = sum(tokens(message["content"]) for message in messages)
        dollars = self._prices.dollars(question.model, sent, 0, TYPICAL_OUTPUT)
        with self._changed:
            while True:
                self._require_open()
                try:
                    call = self._ledger.begin(question, dollars, self._settings.max_cost, self._settings.max_total_cost)
                except BudgetError:
                    if not any(self._under_way.values()):
                        raise
                    self._changed.wait()
                else:
                    self._under_way[question.paper] += 1
                    return call

    def _require_open(self) -> None:
        if self._closed:
            raise ModelUnavailableError(CLOSED)

    def _require_up(self) -> None:
        """Raises `ModelUnavailableError` for some time after an outage, so that queued calls fail immediately."""
        if self._down is not None and time.monotonic() < self._down[0]:
            raise ModelUnavailableError(self._down[1])

    def _report(self, question: Question, reply: Reply, *, cached: bool) -> None:
        counts = (0, 0, 0) if cached else (reply.input_tokens, reply.cached_tokens, reply.output_tokens)
        dollars = self._prices.dollars(question.model, *counts) if reply.dollars is None else reply.dollars
        self._notify(
            Call(
                paper=question.paper,
                stage=question.stage,
                about=question.about,
                model=question.model,
                input_tokens=counts[0],
                output_tokens=counts[2],
                dollars=0.0 if cached else dollars,
                seconds=0.0 if cached else reply.seconds,
                cached=cached,
            )
        )


def _continued(messages: list[Message], answer: str, reply: str) -> list[Message]:
    return [*messages, {"role": "assistant", "content": answer or "(nothing)"}, {"role": "user", "content": reply}]


def _one_line(text: str) -> str:
    line = printable_line(text)
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} …"
