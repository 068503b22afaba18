"""Finds the examples of a page: its blocks, and the programs that its shell blocks call.

Bash itself reads the shell blocks, so that quotes, variables and comments have their usual meaning. The calls are
recorded instead of being run."""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("xkg", "make", "uv", "pip", "apt-get", "docker", "scripts/neo4j-dev", ".venv/bin/python")
"""Lists the programs that examples may call. Bash stops at any other program."""

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_RECORD = """
record() {
  local name names=(${!XKG_@} ${!OPENAI_@} ${!NEO4J_@})
  printf '%s\\0' "$#" "$@" "${#names[@]}" >> "$CALLS"
  for name in "${names[@]}"; do printf '%s\\0' "$name=${!name}" >> "$CALLS"; done
}
"""


@dataclass(frozen=True)
class Block:
    language: str
    text: str


@dataclass(frozen=True)
class Call:
    """A program and its arguments, together with the variables for xkg that the page has set so far."""

    program: str
    arguments: Sequence[str]
    environment: Mapping[str, str]

    def __str__(self) -> str:
        return " ".join((self.program, *self.arguments))


def blocks(page: Path) -> list[Block]:
    return [Block(language, text) for language, text in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def calls(shell: str, folder: Path) -> list[Call]:
    """Returns the calls that these lines of shell would make, in order, starting from `folder`."""
    written = folder / "calls"
    functions = "".join(f'{program}() {{ record {program} "$@"; }}\n' for program in PROGRAMS)
    environment = {"PATH": "", "CALLS": str(written), "LC_ALL": "C.UTF-8"}
    script = f"{_RECORD}{functions}set -eu\n{shell}"
    done = subprocess.run(["/bin/bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(_read(written.read_text(encoding="utf-8").split("\0")[:-1])) if written.exists() else []


def _read(fields: list[str]) -> Iterator[Call]:
    rest = iter(fields)
    for count in rest:
        program, *arguments = (next(rest) for _ in range(int(count)))
        variables = (next(rest).partition("=") for _ in range(int(next(rest))))
        yield Call(program, arguments, {name: value for name, _, value in variables})
