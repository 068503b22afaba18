"""Replaces a hosted model by replaying the recorded answers to a build's questions.

A question is recognised by its kind and by the lines that it shares with a recorded question. A reworded prompt or a
slightly changed slice therefore still gets its answer. A question that resembles no recorded one gets no answer.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluation.recording import kind, nearest
from tests.llm_endpoint import Answer, status


def replay(recording: Path) -> Callable[[dict[str, Any]], Answer]:
    """Returns the answers for a `ScriptedEndpoint` from a recording (`evaluation.recording`)."""
    recorded = json.loads(recording.read_text(encoding="utf-8"))

    def answer(body: dict[str, Any]) -> Answer:
        known = nearest(recorded, body)
        return (
            known if known is not None else status(400, f"nothing recorded comes near this question for {kind(body)}")
        )

    return answer
