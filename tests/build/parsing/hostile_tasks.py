"""Replaces the parsers' tasks with flawed ones. The text of a file determines how its parser fails."""

import ctypes
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xkg.build.code import repository
from xkg.build.code.languages.python import Analysis, analyse
from xkg.build.paper import main_file, read
from xkg.build.parsing import tasks
from xkg.sandbox.guest.worker import Call


def _obeyed(text: str) -> None:
    if "SPIN" in text:
        while True:
            pass
    if "HOARD" in text:
        held = [bytearray(16 << 20) for _ in range(10_000)]
        assert not held
    if "CRASH" in text:
        ctypes.string_at(0)
    if "LEAVE" in text:
        os._exit(0)
    if "BREAK" in text:
        raise KeyError("a flaw")


def _analyse(path: str, text: str, *rest: Any) -> Analysis:
    _obeyed(text)
    return analyse(path, text, *rest)


def _repository(call: Call) -> bytes:
    """Returns a wrong answer if a file's name starts with "lie"."""
    names = [name for name, _, _ in call.payload["files"]]
    answer = tasks.TASKS["repository"](call)
    lie = next((name for name in names if name.startswith("lie")), "")
    if "module" in lie:
        call.part(b'{"path": "/etc/passwd", "text": "x"}')
    if "part" in lie:
        call.part(b"[" * 100_000)
    return answer if "answer" not in lie else b'{"repository": 1}'


def _paper(call: Call) -> bytes:
    return b'{"format": "latex"}' if "lie" in Path(call.payload["path"]).name else tasks.TASKS["paper"](call)


_looks_like_latex = main_file.looks_like_latex


def _looks(text: str) -> bool:
    _obeyed(text)
    return _looks_like_latex(text)


repository.analyse = _analyse  # type: ignore[attr-defined]
read.looks_like_latex = _looks  # type: ignore[attr-defined]
TASKS: Mapping[str, Any] = {**tasks.TASKS, "repository": _repository, "paper": _paper}
