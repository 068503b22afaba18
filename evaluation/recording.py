"""Converts the questions and answers from a build into a recording that tests can replay.

    python -m evaluation.recording FOLDER RECORDING.json

FOLDER contains one JSON file per question, as stored by an endpoint: `body` (the request) and `message` (the answer).
The recording contains the answers. Each answer is stored with the features that identify its question: the fields of
the answer, and line checksums."""

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evaluation.inputs.command import run_command
from evaluation.inputs.rows import read_json
from xkg.errors import InputError

_LEAST_SHARED = 0.5
_MARK = re.compile(r"^<<<.*>>>$", re.MULTILINE)


def kind(body: Mapping[str, Any]) -> str:
    """Returns the answer fields that a request asks for, or nothing if it does not ask for structured output."""
    shape = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    return ", ".join(shape.get("properties", ()))


def lines(body: Mapping[str, Any]) -> list[int]:
    """Returns sorted checksums of the distinct lines in the conversation after the system message, ignoring marker
    lines (`<<<…>>>`)."""
    text = "\n".join(str(message["content"]) for message in body["messages"][1:])
    text = _MARK.sub("", text)
    return sorted({zlib.crc32(line.strip().encode("utf-8", "surrogatepass")) for line in text.splitlines()} - {0})


def nearest(recorded: Iterable[Mapping[str, Any]], body: Mapping[str, Any]) -> str | None:
    """Returns the answer to the recorded question of the same kind and turn that shares the most lines with the
    question in `body`. Returns None if the questions share less than half of the lines of the shorter question. A
    reworded prompt, or a slice that changed by a line, therefore still gets the recorded answer."""
    own = set(lines(body))

    def shared(entry: Mapping[str, Any]) -> float:
        return len(own & set(entry["lines"])) / max(1, len(own | set(entry["lines"])))

    alike = [entry for entry in recorded if entry["kind"] == kind(body) and entry["turn"] == len(body["messages"])]
    best = max(alike, key=shared, default=None)
    if best is None or len(own & set(best["lines"])) < _LEAST_SHARED * min(len(own), len(best["lines"])):
        return None
    return str(best["answer"])


def main(folder: Path, recording: Path) -> None:
    requests = [read_json(file) for file in sorted(folder.glob("*.json"))]
    if not requests:
        raise InputError(f"{folder} contains no questions; pass the folder in which an endpoint stored them")
    entries = [
        {
            "kind": kind(each["body"]),
            "turn": len(each["body"]["messages"]),
            "lines": lines(each["body"]),
            "answer": each["message"]["content"],
        }
        for each in requests
    ]
    entries.sort(key=lambda entry: (entry["kind"], entry["turn"], entry["lines"]))
    recording.write_text("[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n", encoding="utf-8")
    print(f"{len(entries)} answers in {recording}")


if __name__ == "__main__":
    run_command(main)
