"""Shortens the output of a run, keeping the traceback frames that show where the code or test failed."""

import re

TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'^(\s+)File "([^"]+)", line \d+')
_OWN = ("implementation.py", "test.py")
_FRAMES = 6
_END = 2000


def end_of_output(output: str) -> str:
    """Returns at most the last 2,000 characters of a run's output. If the traceback is longer, drops all library frames
    except the last."""
    before, mark, after = output.rpartition(TRACEBACK)
    if mark and len(mark) + len(after) > _END:
        output = f"{before}{mark}\n{last_frames(after)}"
    return output[-_END:]


def last_frames(traceback: str) -> str:
    """Keeps the last frames in the code and the test, the last frame in a library, and the error."""
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
