"""Measures how a subject's running time grows with the length of its text, in a separate process that can be killed.

A subject grows too fast if four times the length takes more than six times the processor time. Times below the floor
are noise. Longer times are measured again before they count."""

import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from tests.growth.pumping import Pump

FLOOR = 0.02
FACTOR, MOST = 4, 6.0
_SECONDS, _SECONDS_PATTERN = 60, 3  # processor time per pump, in seconds; one text takes only milliseconds
_MEMORY = 2 << 30  # the memory limit of a parser process
_BATCH = 100
Action = Callable[[str], object]
Clock = Callable[[], float]


@dataclass(frozen=True)
class Finding:
    """The subject took `seconds` for `length` characters, which is `ratio` times as long as for a quarter of the
    characters. If the subject never finished, `ratio` is None and the others are 0."""

    pump: Pump
    length: int
    seconds: float
    ratio: float | None

    def __str__(self) -> str:
        shown = f"{self.pump.before[-60:]!r} + {self.pump.piece[:80]!r} × n + {self.pump.after[:40]!r}"
        if self.ratio is None:
            return f"{shown}: no end"
        return f"{shown}: {self.seconds:.2f} s for {self.length}, {self.ratio:.0f} times that of a quarter"


def growths(
    subject: str,
    pumps: Sequence[Pump],
    lengths: Sequence[int],
    confirm: int | None = None,
    *,
    enough: int = sys.maxsize,
) -> list[Finding]:
    """Returns the first `enough` of the `pumps` for which the subject grows too fast. `subject` is JSON for a pattern,
    or a name in `parsers`. Short texts may cross a threshold by chance. If `confirm` is given, their growth is
    therefore measured again at that many characters. Skips texts for which the grammar alone takes more memory than a
    worker has, because such a worker would skip the file."""
    found: list[Finding] = []
    at = 0
    while at < len(pumps) and len(found) < enough:
        # Each hundred pumps use a separate process, so that memory freed late does not count.
        ran = _run(subject, pumps[at : at + _BATCH], lengths, confirm, enough=enough - len(found))
        lines = [json.loads(line) for line in ran.stdout.splitlines()]
        found += [
            Finding(pumps[at + line["at"]], line["length"], line["seconds"], line["ratio"])
            for line in lines
            if "ratio" in line
        ]
        if ran.returncode == 0:
            at += _BATCH
            continue
        if not lines or ran.returncode > 0:
            raise AssertionError(ran.stderr[-2000:])
        last = at + lines[-1]["at"]  # this pump was running when the process was killed
        if not _ended_in_a_grammar(subject, pumps[last], lengths, confirm):
            found.append(Finding(pumps[last], 0, 0, None))
        at = last + 1
    return found


def _ended_in_a_grammar(subject: str, pump: Pump, lengths: Sequence[int], confirm: int | None) -> bool:
    from tests.growth.parsers import WITH_GRAMMARS

    return subject in WITH_GRAMMARS and _run(subject, [pump], lengths, confirm, grammars_alone=True).returncode < 0


def _run(
    subject: str,
    pumps: Sequence[Pump],
    lengths: Sequence[int],
    confirm: int | None,
    *,
    enough: int = sys.maxsize,
    grammars_alone: bool = False,
) -> subprocess.CompletedProcess[str]:
    asked = {"subject": subject, "pumps": [asdict(pump) for pump in pumps], "lengths": list(lengths)}
    return subprocess.run(
        [sys.executable, "-m", "tests.growth.measuring"],
        input=json.dumps({**asked, "confirm": confirm, "enough": enough, "grammars_alone": grammars_alone}),
        capture_output=True,
        text=True,
        check=False,
    )


def _measure(
    action: Action, elsewhere: Clock, pump: Pump, lengths: Sequence[int], confirm: int | None
) -> tuple[int, float, float] | None:
    before: float | None = None
    for length in lengths:
        text = pump.text(length)
        took = _seconds(action, elsewhere, text)
        if before is not None and took > FLOOR and took > MOST * before:
            shorter = pump.text(length // FACTOR)
            before = max(before, *(_seconds(action, elsewhere, shorter) for _ in range(3)))
            took = min(took, *(_seconds(action, elsewhere, text) for _ in range(2))) if took < 5 else took
            if took > FLOOR and took > MOST * before:
                if confirm is not None and took < 5:
                    return _measure(action, elsewhere, pump, (confirm // FACTOR, confirm), None)
                return length, took, took / max(before, 1e-9)
        before = took
    return None


def _seconds(action: Action, elsewhere: Clock, text: str) -> float:
    started = time.process_time() - elsewhere()
    action(text)
    return time.process_time() - elsewhere() - started


def _of_pattern(asked: dict[str, object]) -> Action:
    source = str(asked["pattern"])
    flags = int(str(asked["flags"]))
    pattern = re.compile(source.encode("latin-1") if asked["bytes"] else source, flags)  # type: ignore[call-overload]
    uses = asked["uses"]
    assert isinstance(uses, list)
    methods = [getattr(pattern, use) for use in ("match", "fullmatch") if use in uses]
    if set(uses) - {"match", "fullmatch"}:
        methods.append(lambda text: sum(1 for _ in pattern.finditer(text)))

    def apply(text: str) -> None:
        given = text.encode("utf-8") if asked["bytes"] else text
        for method in methods:
            method(given)

    return apply


def _main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    asked = json.load(sys.stdin)
    subject = asked["subject"]
    elsewhere: Clock = float
    limit = _SECONDS_PATTERN if subject.startswith("{") else _SECONDS
    found = 0
    if subject.startswith("{"):
        action = _of_pattern(json.loads(subject))
    else:
        from tests.growth.parsers import PARSERS, grammars_alone, without_grammars

        action = PARSERS[subject]
        if asked["grammars_alone"]:
            grammars_alone()
        else:
            elsewhere = without_grammars()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    for at, pump in enumerate(asked["pumps"]):
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + limit, hard))
        print(json.dumps({"at": at}), file=out, flush=True)
        if growth := _measure(action, elsewhere, Pump(**pump), asked["lengths"], asked["confirm"]):
            length, seconds, ratio = growth
            print(json.dumps({"at": at, "length": length, "seconds": seconds, "ratio": ratio}), file=out, flush=True)
            found += 1
            if found >= asked["enough"]:
                return


if __name__ == "__main__":
    _main()
