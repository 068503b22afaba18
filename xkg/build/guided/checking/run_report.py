"""Summarises a run for a repair prompt, without details that vary from run to run."""

import re

from xkg.sandbox.evidence.levels import Proof
from xkg.sandbox.evidence.tracebacks import TRACEBACK, last_frames

LONGEST = 3000
_PRINTED = 500
_PATH = r"(?:/[\w.@+-]{1,255}){1,40}/"
_SCRATCH = re.compile(rf"{_PATH}(?=(?:implementation|test)\.py)|{_PATH}(?:site|dist)-packages/")
_STANDARD = re.compile(rf"{_PATH}lib/python3\.\d+/")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
_DURATION = re.compile(r"\b\d+(?:\.\d+)?(?: ?(?:ns|µs|us|ms|s|sec|secs|seconds|minutes)\b|(?:it/s|s/it)\b)")
_CLOCK = re.compile(r"\b(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?Z?\b")
_PROCESS = re.compile(r"\b(pid|PID|thread|Thread)([ =:-]+)\d+")
_FOLDER = re.compile(r"/(?:tmp|scratch|var/tmp|work|run)/[\w./@+-]*")


def report(proof: Proof) -> str:
    """Describes a draft's failure for a prompt, in at most `LONGEST` characters. Includes the cause, the last frames in
    the draft's own code, and the error."""
    evidence = proof.evidence
    lines = [f"{proof.cause.value}: {steady(evidence.reason or 'no reason was given')}"]
    printed = _trimmed(steady(evidence.output_end))
    if printed:
        lines += ["", printed]
    text = "\n".join(lines)
    return text if len(text) <= LONGEST else text[: LONGEST // 3] + "\n…\n" + text[-(LONGEST * 2 // 3 - 4) :]


def steady(text: str) -> str:
    """Removes addresses, scratch folders, durations, times and process ids from the text."""
    text = _SCRATCH.sub("", text)
    text = _STANDARD.sub("", text)
    text = _FOLDER.sub("…", text)
    text = _ADDRESS.sub("0x…", text)
    text = _CLOCK.sub("…", text)
    text = _PROCESS.sub(r"\1\2…", text)
    return _DURATION.sub("… s", text)


def _trimmed(output: str) -> str:
    before, mark, after = output.rpartition(TRACEBACK)
    if not mark:
        return output[-2 * _PRINTED :].strip()
    printed = before.rpartition(TRACEBACK)[2] if TRACEBACK in before else before
    return "\n".join(part for part in (printed[-_PRINTED:].strip(), mark, last_frames(after)) if part)
