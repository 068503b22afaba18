"""Runs a command on each variant's context and parses the score that it prints. Finished runs are stored and reused."""

import hashlib
import json
import math
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from xkg.errors import InputError
from xkg.files import write_whole
from xkg.value import Value

PLANNING, IMPLEMENTATION = "planning.md", "implementation.md"
_QUOTED = 300
_LARGEST_OUTPUT = 16 * 1024 * 1024


class Run(Value):
    """A run of the command. If the run failed, `score` is None and `problem` is the reason. `digest` covers the command
    and the context."""

    variant: str
    paper: str
    number: int
    digest: str
    score: float | None
    problem: str = ""


def read_score(output: str) -> float | None:
    """Returns the score from the last line that is a number or a JSON object with `score`. Returns None if there is no
    such line."""
    for line in reversed(output.splitlines()):
        text = line.strip()[:10_000]
        if not text:
            continue
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            value = value.get("score")
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    return None


def run(
    command: Sequence[str], variant: str, paper: str, number: int, context: Path, store: Path, seconds: float
) -> Run:
    """Returns the stored run of this command on this context, or a new run. `{planning}`, `{implementation}`,
    `{folder}`, `{paper}`, `{variant}` and `{run}` are replaced in each argument of the command. Environment variables
    such as XKG_STUDY_PLANNING contain the same values. A failed run is not stored, so it is tried again next time."""
    values = {
        "planning": str((context / PLANNING).resolve()),
        "implementation": str((context / IMPLEMENTATION).resolve()),
        "folder": str(context.resolve()),
        "paper": paper,
        "variant": variant,
        "run": str(number),
    }
    digest = _digest(command, variant, number, context)
    file = store / f"{digest}.json"
    try:
        return Run.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        pass
    words = [_filled(word, values) for word in command]
    score, problem = _score(words, values, seconds)
    made = Run(variant=variant, paper=paper, number=number, digest=digest, score=score, problem=problem)
    if score is not None:
        store.mkdir(parents=True, exist_ok=True)
        write_whole(file, made.model_dump_json().encode())
    return made


def _score(words: Sequence[str], values: Mapping[str, str], seconds: float) -> tuple[float | None, str]:
    environment = {**os.environ, **{f"XKG_STUDY_{name.upper()}": value for name, value in values.items()}}
    try:
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True
        )
    except OSError as error:
        raise InputError(f"{words[0]} cannot be started ({error.strerror}); correct the command after --") from error
    try:
        output, errors = process.communicate(timeout=seconds)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            return None, f"took more than {seconds:g} s"
        raise
    if process.returncode != 0:
        end = " ".join(errors.decode("utf-8", "replace").split())[-_QUOTED:]
        return None, f"exited with {process.returncode}: {end}"
    score = read_score(output[-_LARGEST_OUTPUT:].decode("utf-8", "replace"))
    return score, "" if score is not None else "printed no line with a number or a JSON object with a score"


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def _digest(command: Sequence[str], variant: str, number: int, context: Path) -> str:
    texts = [(context / name).read_bytes().hex() for name in (PLANNING, IMPLEMENTATION)]
    content = json.dumps([list(command), variant, number, str(context), texts])
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:24]
