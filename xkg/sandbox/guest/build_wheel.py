"""Builds a wheel from a source distribution with uv. Runs inside the sandbox and uses only the standard library.

The request is a JSON object on stdin. Stdout contains the wheel's name, a newline, and the wheel itself. Stderr
contains the build's output. Both streams are untrusted, because the build runs code from the source."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

_VERSION = rb"(?:[<>=!~]=|[<>])\d+(?:\.\d+)*(?:\.\*)?"
_SOUND = re.compile(rb"Requires-Dist:[\w.-]+(?:\[[\w,-]*\])?\(?(?:%s(?:,%s)*)?\)?;extra==" % (_VERSION, _VERSION))


def main() -> None:
    request = json.load(sys.stdin)
    out = os.dup(1)
    os.dup2(2, 1)
    home = Path(os.environ["HOME"])
    tools = home / "tools"
    for name, content in request["python"].items():
        (tools / name).parent.mkdir(parents=True, exist_ok=True)
        (tools / name).write_text(content)
    (tools / "bin").mkdir()
    (tools / "bin/python").symlink_to(request["interpreter"])
    command = [request["uv"], "build", "--wheel", "--no-build-isolation", "--offline", "--no-config", "--no-progress"]
    command += [
        "--python",
        str(tools / "bin/python"),
        "--cache-dir",
        str(home / "cache"),
        "--out-dir",
        str(home / "out"),
    ]
    variables = dict(os.environ)
    if packages := request["packages"]:  # programs from packages, such as swig, run on the plain interpreter
        variables |= {"PATH": f"{packages}/bin:{variables['PATH']}", "PYTHONPATH": packages}
    ended = subprocess.run([*command, request["source"]], stdin=subprocess.DEVNULL, env=variables, check=False)
    built = sorted((home / "out").glob("*.whl"))
    if ended.returncode != 0 or len(built) != 1:
        sys.exit(1)
    without_malformed_extras(built[0], home / "wheel")
    with os.fdopen(out, "wb") as stdout, (home / "wheel").open("rb") as wheel:
        stdout.write(built[0].name.encode() + b"\n")
        shutil.copyfileobj(wheel, stdout)


def without_malformed_extras(built: Path, target: Path) -> None:
    """Copies a wheel, and drops malformed requirements for extras. Old wheels often contain such requirements, which
    make uv reject the whole wheel."""
    with zipfile.ZipFile(built) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            content = old.read(member)
            if member.filename.endswith(".dist-info/METADATA"):
                lines = content.splitlines(keepends=True)
                content = b"".join(
                    line for line in lines if b"extra ==" not in line or _SOUND.match(line.replace(b" ", b""))
                )
            new.writestr(member, content)


if __name__ == "__main__":
    main()
