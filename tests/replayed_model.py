"""Stands in for a hosted model: answers that were given once to the questions of a build, given again.

A question is recognised by its kind and by the lines it shares with the recorded one, so that a prompt whose wording
was mended, or a slice that changed by a line, still gets its answer; one that nothing recorded comes near gets none.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluation.recording import kind, nearest
from tests.llm_endpoint import Answer, status


def replay(recording: Path) -> Callable[[dict[str, Any]], Answer]:
    """Answers for a `ScriptedEndpoint` from a recording (`evaluation.recording`)."""
    recorded = json.loads(recording.read_text(encoding="utf-8"))

    def answer(body: dict[str, Any]) -> Answer:
        known = nearest(recorded, body)
        return (
            known if known is not None else status(400, f"nothing recorded comes near this question for {kind(body)}")
        )

    return answer
