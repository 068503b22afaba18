"""Runs a command in a copy of its starting folder. Runs inside the sandbox and uses only the standard library.

The request is a JSON object on stdin. The command's output goes to this program's stdout. The report, a JSON object,
goes to this program's stderr, which no other process in the sandbox can write to. `python` is the interpreter of a
virtual environment with the package folder on its module path. If there are `traced` files or `awaited` lines, every
Python process starts with the program `tracer` (`guest.line_trace`). All processes share one memory-mapped file of
counters, so the counts of killed processes are kept too. If two processes run the same line at the same moment, only
one run may be counted.

The files that a command leaves behind can be measured by a second command in a separate sandbox. If `leaves` is set,
the files that the command created or overwrote follow its output as a tar archive. The report states the archive's
first byte as `left_at`. The request for the second command contains that file and byte as `left`, and the files that
must be absent from the tree as `without`."""

import base64
import contextlib
import ctypes
import filecmp
import importlib.machinery
import json
import mmap
import os
import select
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

_NOT_DUMPABLE = (4, 0)  # PR_SET_DUMPABLE
_FILE_BYTES, _ALL_BYTES, _REACHED_BYTES = 4 << 20, 8 << 20, 1 << 16
_MOST_REMOVED, _MOST_REWRITTEN = 20, 2000
_PIPE, _AFTER_OUTPUT = 1 << 16, 1.0
_CODE = tuple(importlib.machinery.all_suffixes())


def main() -> None:
    request = json.load(sys.stdin)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(*_NOT_DUMPABLE)
    home = Path(os.environ["HOME"])
    tree = home / "work"
    report: dict[str, Any] = {"ended": "exited", "exit_code": None, "files": {}, "lines": None, "home": str(home)}
    try:
        shutil.copytree(Path.cwd(), tree)
        if request["fetched"]:
            place, at = request["fetched"]
            with open(place, "rb") as archive:  # noqa: PTH123
                archive.seek(at)
                take_home(archive, home)
        without = set(request["without"])
        for name in without:
            (tree / name).unlink(missing_ok=True)
        for name, place in request["data"].items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).symlink_to(place)
        if request["left"]:
            place, at = request["left"]
            with open(place, "rb") as archive:  # noqa: PTH123
                archive.seek(at)
                take(archive, tree, set(request["outputs"]), without | set(request["wanted"]))
        python = environment(home / ".python", request)
        (home / ".python" / "reached").write_bytes(b"")  # touch() cannot create files under Landlock
        awaited = request["awaited"]
        watched = {path: max(map(max, of)) for path, of in awaited.items()} or request["traced"]
        first, size = offsets(watched, tree)
        counts, opened = home / ".python" / "counts", home / ".python" / "opened"
        if watched:
            # If lines are awaited, the first counter starts as nonzero, because no process is watching yet.
            counts.write_bytes((b"\1" if awaited else b"\0") + bytes(8 * size - 1))
            opened.write_bytes(b"")
            trace = {"counts": str(counts), "opened": str(opened), "printed": request["printed"]}
            trace |= {
                "first": {os.path.realpath(tree / name): at for name, at in first.items()},
                "groups": {os.path.realpath(tree / path): of for path, of in awaited.items()},
            }
            (home / ".python" / "trace.json").write_text(json.dumps(trace))
        variables = {**os.environ, **request["variables"], "PATH": f"{python}:/usr/bin:/bin", "PWD": str(tree)}
        command = request["command"]
        report |= run(command, tree, variables, request["seconds"], alone=request["leaves"])
        if watched:
            report["lines"] = executed(counts, first, watched)
        if awaited:
            report["gave_up"] = bool(any(counts.read_bytes()[:8]))
        elif watched:
            report["printed"] = printed(counts, first)
            report["opened"] = opened_files(opened, Path.cwd(), tree)
        report["reached"] = (home / ".python" / "reached").read_bytes()[:_REACHED_BYTES].decode("utf-8", "replace")
        report["files"] = collected(tree, request["wanted"])
        report |= changes(Path.cwd(), tree, without)
        if request["leaves"]:
            report["left_at"] = os.lseek(1, 0, os.SEEK_END)
            report["left"] = hand_over(Path.cwd(), tree, home if request["fetches"] else None)
    except OSError as error:
        report["error"] = f"{error.strerror or error} ({error.filename})"
    sys.stderr.write(json.dumps(report))


def environment(folder: Path, request: dict[str, Any]) -> Path:
    """Creates a virtual environment for the command. Returns the folder that contains the environment's programs."""
    for name, content in request["python"].items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content + request["tracer"] if name.endswith("/sitecustomize.py") else content)
    programs = folder / "bin"
    programs.mkdir()
    for name in request["programs"]:
        (programs / name).symlink_to(request["interpreter"])
    return programs


def offsets(traced: dict[str, int], tree: Path) -> tuple[dict[str, int], int]:
    """Returns the index of the counter for line 0 of each file, and the number of counters."""
    first, size = {}, 1
    for name, lines in traced.items():
        first[os.path.relpath(os.path.realpath(tree / name), tree)] = size
        size += lines + 1
    return first, size


def run(command: list[str], tree: Path, variables: dict[str, str], seconds: float, *, alone: bool) -> dict[str, Any]:
    """Runs a command and reports how it ended. If `alone` is set, the command's processes cannot write directly to this
    program's stdout, so all later output comes from this program."""
    reading, writing = os.pipe() if alone else (None, None)
    try:
        process = subprocess.Popen(
            command,
            cwd=tree,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except FileNotFoundError:
        return {"exit_code": 127, "error": f"there is no program {command[0]}"}
    try:
        if reading is not None and writing is not None:
            os.close(writing)
            relay(reading, process, seconds)
            seconds = _AFTER_OUTPUT
        code = process.wait(seconds)
        ended = {"ended": "exited", "exit_code": 128 - code if code < 0 else code}
    except subprocess.TimeoutExpired:
        ended = {"ended": "timeout", "exit_code": None}
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return ended


def relay(reading: int, process: subprocess.Popen[bytes], seconds: float) -> None:
    """Copies a process's output to stdout until the process ends or `seconds` have passed, including any output still
    in the pipe. If stdout is full, the process is killed by SIGPIPE."""
    until = time.monotonic() + seconds
    with open(reading, "rb", buffering=0) as pipe:
        running = open_ = True
        while running and time.monotonic() < until:
            running = process.poll() is None
            if not open_:
                time.sleep(0.01)
            elif select.select([pipe], [], [], 0.02 if running else 0)[0]:
                data = pipe.read(_PIPE)  # at most the capacity of a pipe
                open_ = bool(data)
                try:
                    os.write(1, data)
                except OSError:
                    break


def executed(counts: Path, first: dict[str, int], traced: dict[str, int]) -> dict[str, dict[str, int]]:
    """Returns the number of times each executed line ran, by file and line."""
    lines: dict[str, dict[str, int]] = {}
    with counts.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        numbers = memoryview(mapped).cast("Q")
        for name, at in first.items():
            lines[name] = {str(line): numbers[at + line] for line in range(1, traced[name] + 1) if numbers[at + line]}
        numbers.release()
    return lines


def printed(counts: Path, first: dict[str, int]) -> tuple[str, int] | None:
    """Returns the file and line identified by the first counter."""
    index = int.from_bytes(counts.read_bytes()[:8], sys.byteorder)
    name = max((name for name, at in first.items() if at < index), key=first.__getitem__, default=None)
    return None if name is None else (name, index - first[name])


def opened_files(names: Path, original: Path, tree: Path) -> list[str] | None:
    """Returns the files in the original folder that Python processes opened in the copy. Returns None if a process
    could not record the files that it opened."""
    with names.open("rb") as file:
        found = {os.fsdecode(line) for line in file.read(_FILE_BYTES).splitlines()}
    root = os.path.realpath(tree)
    return None if "*" in found else [path for path in paths_of(original) if f"{root}/{path}" in found]


def changes(original: Path, tree: Path, without: set[str]) -> dict[str, list[str]]:
    """Returns the files from the original folder that the command removed from the copy (at most 20), and those whose
    content changed (at most 2,000)."""
    removed: list[str] = []
    rewritten: list[str] = []
    for path in paths_of(original):
        if not os.path.lexists(tree / path):
            removed += [] if path in without else [path]
        elif len(rewritten) < _MOST_REWRITTEN and not same(original / path, tree / path):
            rewritten.append(path)
    return {"removed": removed[:_MOST_REMOVED], "rewritten": rewritten}


def paths_of(folder: Path) -> list[str]:
    return sorted(os.path.relpath(Path(at) / name, folder) for at, _, names in os.walk(folder) for name in names)


def same(one: Path, other: Path) -> bool:
    """Returns whether both paths are regular files with the same content."""
    try:
        return not other.is_symlink() and other.is_file() and filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


class Whole:
    """Pads a file with zeros if it shrinks while being read, because the command's processes may still be writing to
    it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        return self._file.read(size).ljust(size, b"\0")


def hand_over(original: Path, tree: Path, home: Path | None) -> bool:
    """Writes the regular files that differ from those in the original folder to stdout, as a tar archive. If `home` is
    given, also archives links and other files below `home`, except the environment. Returns False if the archive does
    not fit."""
    root = home or tree
    try:
        with os.fdopen(os.dup(1), "wb") as out, tarfile.open(fileobj=out, mode="w|") as archive:
            for at, folders, names in os.walk(root):
                if home and at == str(home):
                    folders.remove(".python")
                for path in (Path(at) / name for name in [*folders, *names]):
                    name = str(path.relative_to(root))
                    unchanged = path.is_relative_to(tree) and same(original / path.relative_to(tree), path)
                    if path.is_symlink() and home:
                        archive.addfile(archive.gettarinfo(path, name))
                    elif path.is_file() and not path.is_symlink() and not unchanged:
                        with contextlib.suppress(FileNotFoundError, PermissionError), path.open("rb") as file:
                            archive.addfile(archive.gettarinfo(arcname=name, fileobj=file), Whole(file))  # type: ignore[arg-type]
    except OSError:
        return False
    return True


def take_home(left: BinaryIO, home: Path) -> None:
    """Restores the files that another command left below its home folder."""
    with contextlib.suppress(tarfile.TarError), tarfile.open(fileobj=left, mode="r:") as archive:
        for member in archive:
            place = home / member.name
            with contextlib.suppress(OSError):
                place.parent.mkdir(parents=True, exist_ok=True)
                place.unlink(missing_ok=True)
                if member.issym():
                    place.symlink_to(member.linkname)
                elif (source := archive.extractfile(member)) is not None:
                    with place.open("wb") as file:
                        shutil.copyfileobj(source, file)
                    place.chmod(member.mode & 0o777 | 0o600)


def take(left: BinaryIO, tree: Path, outputs: set[str], refused: set[str]) -> None:
    """Adds data files left behind by another command, except hidden files and anything that Python could import.
    Overwrites only those files in the tree that are in `outputs`."""
    inside = tree.resolve()
    with contextlib.suppress(tarfile.TarError), tarfile.open(fileobj=left, mode="r:") as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            place = tree / path
            hidden = any(part.startswith(".") for part in path.parts)
            if not member.isreg() or hidden or path.name.endswith(_CODE) or str(path) in refused:
                continue
            in_the_way = os.path.lexists(place) and str(path) not in outputs
            if in_the_way or place.is_symlink() or not place.parent.resolve().is_relative_to(inside):
                continue
            source = archive.extractfile(member)
            with contextlib.suppress(OSError):
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("wb") as file:
                    shutil.copyfileobj(source, file)  # type: ignore[arg-type]


def collected(tree: Path, wanted: list[str]) -> dict[str, str]:
    """Returns the expected output files, encoded in base64. Anything that is not a regular file inside the tree is
    skipped."""
    files: dict[str, str] = {}
    size = 0
    for name in wanted:
        place = tree / name
        with contextlib.suppress(OSError):
            if place.resolve().is_relative_to(tree.resolve()) and place.is_file():
                descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                with os.fdopen(descriptor, "rb") as file:
                    content = file.read(_FILE_BYTES + 1)
                size += len(content)
                if len(content) <= _FILE_BYTES and size <= _ALL_BYTES:
                    files[name] = base64.b64encode(content).decode()
    return files


if __name__ == "__main__":
    main()
