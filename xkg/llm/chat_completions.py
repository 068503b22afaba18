"""Sends questions to any server with an OpenAI-compatible API: https://platform.openai.com/docs/api-reference/chat."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl

from xkg.clock import CLOCK, Clock
from xkg.errors import MissingExtraError, ModelUnavailableError
from xkg.llm.endpoint import CLOSED, Ending, Reply, Request
from xkg.llm.prices import tokens
from xkg.llm.request import TOO_LONG, Accepted, Message, text_of, whole_of_stream
from xkg.openai_server import Access, Patience, failure
from xkg.text.unicode import encodable

if TYPE_CHECKING:
    import openai

PATIENCE = 300.0
_MAX_BYTES = 16 << 20
_NO_COMPLETIONS = 3
_CONNECT = 15.0
_LOW_LIMIT = 8_192
"""If an answer is cut off before it reaches this number of tokens, the reason is the endpoint's default limit, which a
request can raise."""
_CUT = re.compile(r"length|max_?tokens", re.I)
_FILTERED = re.compile(r"content.?(filter|policy|management)|safety|recitation|prohibited", re.I)
_ANSWERS = (
    *("content", "tool_calls", "function_call"),
    *("parsed", "reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks"),
)
"""Message fields that may contain the answer, best first."""


class _PassingError(Exception):
    """Raised for a failure that a retry may resolve. `pause` is the wait, in seconds, that the endpoint requested."""

    def __init__(self, line: str, pause: float = 0.0, *, attempts: int | None = None) -> None:
        super().__init__(line)
        self.pause = pause
        self.attempts = attempts


class ChatCompletions:
    """An HTTP endpoint for chat completions. Safe to use from several threads.

    A call takes at most `seconds`, even if the response body arrives slowly. Temporary failures (408, 409, 429, 5xx, a
    dropped or refused connection) are retried for `patience` seconds, with the pauses that the endpoint requests. A
    refused connection is retried only if the endpoint has answered before. `parameters` are added to each request. The
    request shape that the endpoint accepts is remembered for each model (`Accepted`).

    Calls run in an event loop in a separate thread, so `close` can cancel them immediately."""

    def __init__(
        self,
        where: Access,
        *,
        seconds: float,
        patience: float = PATIENCE,
        clock: Clock = CLOCK,
        parameters: Mapping[str, Any] = MappingProxyType({}),
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.at = where.at
        self.remedy = "check llm.base_url, or raise llm.seconds"
        self.searches = False
        self._where = where
        self._seconds = seconds
        self._patience, self._clock = patience, clock
        self._parameters, self._headers = parameters, headers
        self._accepted: dict[str, Accepted] = {}
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._client: openai.AsyncOpenAI | None = None
        self._closed = self._has_answered = False

    def complete(self, request: Request) -> Reply:
        with self._lock:
            if self._closed:
                raise ModelUnavailableError(CLOSED)
            loop = self._started()
            future = asyncio.run_coroutine_threadsafe(self._answer(request), loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise ModelUnavailableError(CLOSED) from None
        except BaseException:
            future.cancel()
            raise

    def distrust(self, model: str) -> None:
        self._accepted[model] = replace(self._accepted.get(model, Accepted()), schema=False)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            loop, self._loop = self._loop, None
        if loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.close()

    async def _stop(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            try:
                import openai
            except ModuleNotFoundError as error:
                raise ModelUnavailableError(str(MissingExtraError("llm", "asking a language model"))) from error

            # This class handles retries, so the SDK must not retry.
            address, _, query = self._where.base_url.partition("?")
            self._client = openai.AsyncOpenAI(
                api_key=self._where.sent_key,
                base_url=address,
                max_retries=0,
                default_headers=dict(self._headers),
                default_query=dict(parse_qsl(query)),
            )
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="llm", daemon=True)
            self._thread.start()
        return self._loop

    async def _answer(self, request: Request) -> Reply:
        start = time.monotonic()
        patience, failures = Patience(self._patience, self._clock), 0
        while True:
            try:
                reply = await self._complete(request, repeated=failures == 1)
                return replace(reply, seconds=time.monotonic() - start)
            except _PassingError as error:
                failures += 1
                pause = patience.pause(error.pause)
                if pause is None or (error.attempts is not None and failures >= error.attempts):
                    raise ModelUnavailableError(patience.give_up(str(error), error.pause)) from None
            await self._clock.sleep_async(pause)

    async def _complete(self, request: Request, *, repeated: bool) -> Reply:
        """Changes the request's shape until the endpoint accepts it, and remembers the accepted shape."""
        import openai

        model, temperature = request.model, request.temperature
        accepted = self._accepted.get(model, Accepted())
        first: Reply | None = None
        while True:
            try:
                body = accepted.body(request.messages, request.schema, temperature, self._parameters)
                reply = await self._attempt(model, body)
            except openai.APIStatusError as error:
                other = accepted.after(error, temperature, repeated=repeated)
                if other is None:
                    return first or self._refusal(error, model)
                accepted = other
                continue
            if reply.ending == "cut" and accepted.limit is None and reply.output_tokens < _LOW_LIMIT:
                accepted, first = replace(accepted, limit="max_tokens"), reply
                continue
            self._accepted[model] = accepted
            if first is None:
                return reply
            return replace(
                reply,
                input_tokens=first.input_tokens + reply.input_tokens,
                cached_tokens=first.cached_tokens + reply.cached_tokens,
                output_tokens=first.output_tokens + reply.output_tokens,
            )

    async def _attempt(self, model: str, request: Mapping[str, Any]) -> Reply:
        """Sends one request. The body is read in chunks, so a slow or endless body cannot block the call or exhaust
        memory. Raises `APIStatusError` if the endpoint refuses the request."""
        import httpx2
        import openai

        assert self._client is not None
        sent = request["messages"]
        limits = httpx2.Timeout(self._seconds, connect=min(_CONNECT, self._seconds))
        body = bytearray()
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._client.chat.completions.with_streaming_response.create(
                    model=model,
                    messages=cast(Any, sent),
                    timeout=limits,
                    extra_body={key: value for key, value in request.items() if key != "messages"},
                ) as response,
            ):
                self._has_answered = True
                async for piece in response.iter_bytes():
                    body += piece
                    if len(body) > _MAX_BYTES:
                        raise ModelUnavailableError(f"{self._where.at} sent an endless response; check llm.base_url")
        except (TimeoutError, openai.APITimeoutError, httpx2.TimeoutException) as error:
            if isinstance(error, httpx2.ConnectTimeout) or isinstance(error.__cause__, httpx2.ConnectTimeout):
                raise self._failed(error, model) from None
            # The endpoint may still bill the prompt.
            return Reply("late", f"no answer within {self._seconds:g} s", sum(tokens(m["content"]) for m in sent))
        except openai.APIStatusError:
            self._has_answered = True
            raise
        except (openai.OpenAIError, httpx2.HTTPError, UnicodeError) as error:
            raise self._failed(error, model) from None
        return self._read(bytes(body), sent)

    def _read(self, body: bytes, sent: Sequence[Message]) -> Reply:
        """Parses the completion in a response body. Raises `_PassingError` if the body contains no completion."""
        whole = None
        try:
            try:
                whole = json.loads(body)
            except ValueError:
                whole = whole_of_stream(body)
            choice = whole["choices"][0]
            message = choice["message"]
            # Some servers return the whole answer as reasoning, or as a tool's arguments.
            text = next(filter(None, (text_of(message.get(key)) for key in _ANSWERS)), "")
            refusal = text_of(message.get("refusal"))
            finish = str(choice.get("finish_reason"))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            raise self._no_completion(whole) from None
        if finish == "error" or whole.get("error"):
            raise self._no_completion(whole)
        usage = whole.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else 0
        ending: Ending = "ok"
        if refusal or _FILTERED.search(finish):
            ending, text = "refused", refusal or text or finish
        elif _CUT.search(finish):
            ending = "cut"
        return Reply(
            ending,
            encodable(text),
            _count(usage.get("prompt_tokens"), sum(tokens(m["content"]) for m in sent)),
            _count(cached, 0),
            _count(usage.get("completion_tokens"), tokens(text)),
        )

    def _no_completion(self, whole: Any) -> Exception:
        """Returns the error for a response without a completion. Gateways may wrap an upstream error in a response with
        status 200."""
        words = self._where.words(whole)
        line = (
            f"{self._where.at} answered with an error ({words}); check llm.model and llm.base_url, or try again later"
            if words
            else f"{self._where.at} did not answer with a chat completion; check llm.base_url (it often ends in /v1)"
        )
        return _PassingError(line, attempts=_NO_COMPLETIONS)

    def _refusal(self, error: openai.APIStatusError, model: str) -> Reply:
        """Returns the reply to a question that the endpoint refused. Raises `_PassingError` if a retry may succeed, and
        `ModelUnavailableError` if every question would fail."""
        status, words = error.status_code, self._where.words(error.body)
        because = f" ({words})" if words else ""
        if status in (400, 413, 422) and (status == 413 or TOO_LONG.search(f"{error.code} {words}")):
            return Reply("barred", f"the question is too long for {model}{because}")
        if status in (400, 403, 422) and _FILTERED.search(f"{error.code} {words}"):
            return Reply("barred", f"the endpoint's filter blocked the question{because}")
        raise self._failed(error, model) from None

    def _failed(self, error: Exception, model: str) -> Exception:
        why = failure(error, self._where, model)
        if not self._has_answered and _is_refused(error):
            return ModelUnavailableError(
                f"nothing is listening at {self._where.at}; start the endpoint, or correct llm.base_url"
            )
        return _PassingError(why.line, why.pause) if why.passes else ModelUnavailableError(why.line)


def _is_refused(error: BaseException | None) -> bool:
    """Returns whether every address of the host refused the connection."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_refused, error.exceptions))
    return isinstance(error, ConnectionRefusedError) or (
        error is not None and _is_refused(error.__cause__ or error.__context__)
    )


def _count(reported: Any, estimate: int) -> int:
    return reported if type(reported) is int and reported >= 0 else estimate
