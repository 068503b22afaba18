"""Stands in for a hosted model: answers that were given once to the questions of a build, given again.

A question is recognised by its kind and by the lines it shares with the recorded one, so that a prompt whose wording
was mended, or a slice that changed by a line, still gets its answer; one that nothing recorded comes near gets none.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evaluation.recording import kind, lines
from tests.llm_endpoint import Answer, status

_LEAST_SHARED = 0.5


def replay(recording: Path) -> Callable[[dict[str, Any]], Answer]:
    """Answers for a `ScriptedEndpoint` from a recording (`evaluation.recording`)."""
    recorded = json.loads(recording.read_text(encoding="utf-8"))

    def answer(body: dict[str, Any]) -> Answer:
        own = set(lines(body))

        def near(entry: Mapping[str, Any]) -> float:
            other = set(entry["lines"])
            return len(own & other) / max(1, len(own | other))

        alike = [entry for entry in recorded if entry["kind"] == kind(body) and entry["turn"] == len(body["messages"])]
        best = max(alike, key=near, default=None)
        if best is None or near(best) < _LEAST_SHARED:
            return status(400, f"nothing recorded comes near this question for {kind(body)}")
        text: str = best["answer"]
        return text

    return answer
