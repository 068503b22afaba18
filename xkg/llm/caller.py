"""Lets the caller of a job answer the job's questions. Questions are stored on disk until the caller answers them."""

import os
import threading
from pathlib import Path

from xkg.clock import CLOCK, Clock
from xkg.errors import ModelUnavailableError
from xkg.llm.endpoint import CLOSED, Reply, Request
from xkg.llm.open_questions import OpenQuestions
from xkg.llm.prices import tokens

CALLER = "caller"
"""The name of this model in settings."""
JOB_VARIABLE = "XKG_JOB"
"""The environment variable with the current job's number."""
SILENT_SECONDS = 1800.0
"""A job stops if its caller neither fetches nor answers a question for this long. The job resumes when the caller
requests it again."""

_TICK_SECONDS = 0.2


class CallerEndpoint:
    """Passes questions to the caller of a job. The constructor raises `ModelUnavailableError` if this process does not
    belong to a job."""

    def __init__(self, folder: Path, *, clock: Clock = CLOCK) -> None:
        """`folder` is the graph's folder."""
        job = os.environ.get(JOB_VARIABLE, "")
        if not job.isdecimal():
            raise ModelUnavailableError(
                "the model caller is only for builds that an agent starts, over MCP (`xkg serve --allow-build`, then "
                "the build tool) or in Python (kg.start_build); choose a different --llm"
            )
        self.at = "the caller"
        self.remedy = "request the job again"
        self.searches = True
        self._job, self._clock = int(job), clock
        self._questions = OpenQuestions(folder, clock)
        self._closing = threading.Event()

    def complete(self, request: Request) -> Reply:
        begun = self._clock.now()
        id = self._questions.post(self._job, request)
        while (answer := self._questions.take(id)) is None:
            silent = self._clock.now() - max(begun, self._questions.last_visit(self._job))
            if silent > SILENT_SECONDS:
                raise ModelUnavailableError(
                    f"nobody fetched or answered a question for {SILENT_SECONDS / 60:.0f} minutes; request the job "
                    f"again "
                    "to continue"
                )
            if self._closing.wait(_TICK_SECONDS):
                raise ModelUnavailableError(CLOSED)
        sent = sum(tokens(message["content"]) for message in request.messages)
        return Reply("ok", answer, sent, 0, tokens(answer), self._clock.now() - begun, dollars=0.0)

    def distrust(self, model: str) -> None:
        """Does nothing, since answers that violate the schema are never accepted."""

    def close(self) -> None:
        self._closing.set()
