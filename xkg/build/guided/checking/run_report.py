"""The report of a run for a repair prompt, shortened, and without details that change from run to run."""

import re

from xkg.sandbox.evidence.levels import Proof

LONGEST = 3000
_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'^(\s+)File "([^"]+)", line \d+')
_OWN = ("implementation.py", "test.py")
_FRAMES = 6
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
    """The failure of a draft for a prompt: the cause, the last frames of its own code, the error; at most `LONGEST`
    characters."""
    evidence = proof.evidence
    lines = [f"{proof.cause.value}: {steady(evidence.reason or 'no reason was given')}"]
    printed = _trimmed(steady(evidence.output_end))
    if printed:
        lines += ["", printed]
    text = "\n".join(lines)
    return text if len(text) <= LONGEST else text[: LONGEST // 3] + "\n…\n" + text[-(LONGEST * 2 // 3 - 4) :]


def steady(text: str) -> str:
    """A text without addresses, scratch folders, durations, times and process ids."""
    text = _SCRATCH.sub("", text)
    text = _STANDARD.sub("", text)
    text = _FOLDER.sub("…", text)
    text = _ADDRESS.sub("0x…", text)
    text = _CLOCK.sub("…", text)
    text = _PROCESS.sub(r"\1\2…", text)
    return _DURATION.sub("… s", text)


def _trimmed(output: str) -> str:
    before, mark, after = output.rpartition(_TRACEBACK)
    if not mark:
        return output[-2 * _PRINTED :].strip()
    printed = before.rpartition(_TRACEBACK)[2] if _TRACEBACK in before else before
    return "\n".join(part for part in (printed[-_PRINTED:].strip(), mark, _frames(after)) if part)


def _frames(traceback: str) -> str:
    """The last frames in the draft's own files, the last frame in a library, and the error."""
    frames: list[tuple[bool, list[str]]] = []
    error: list[str] = []
    for line in traceback.strip("\n").split("\n"):
        found = _FRAME.match(line)
        if found:
            frames.append((found[2].endswith(_OWN), [line.strip()]))
        elif frames and line.startswith("    ") and not error:
            if line.strip(" ^~"):
                frames[-1][1].append("  " + line.strip())
        elif line.strip() or error:
            error.append(line)
    own = [i for i, (is_own, _) in enumerate(frames) if is_own and "harness.py" not in frames[i][1][0]]
    retained = sorted({*own[-_FRAMES:], *range(max(len(frames) - 1, 0), len(frames))})
    return "\n".join(["\n".join(frames[i][1]) for i in retained] + ["\n".join(error).strip()])
