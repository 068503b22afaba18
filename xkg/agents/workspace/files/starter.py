"""Reads the starter code for a run: a repository's files at a given commit, or the current files in a folder."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xkg.build.repositories import git_directory
from xkg.build.repositories.branch import TreeFile
from xkg.build.repositories.checkout import Checkout, fetch_repository
from xkg.build.repositories.clone import LARGEST_BYTES
from xkg.errors import InputError

MAX_BYTES = 200 << 20
SUBMODULE = "submodule"
_LFS = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True)
class Starter:
    """The starter code. `files` maps paths to files, and `identity` is a digest of their content. `base` is the commit
    of the files, or None if they are not from a commit. `dirty` means that the files differ from `base`. `notes`
    describe what was left out or chosen. `committed` is the day when the Python files were last changed (YYYY-MM-DD),
    or None if the files are not from a commit."""

    spec: str
    identity: str
    files: dict[str, TreeFile]
    base: str | None
    dirty: bool
    notes: tuple[str, ...]
    committed: str | None = None


def read_starter(spec: str, cache: Path, roots: Sequence[Path] | None = None) -> Starter:
    """Reads the starter code at `spec` without running any of it. `spec` may have any form that `fetch_repository`
    accepts.

    Skips links, submodules and files larger than 50 MB, and adds a note. If the remaining files exceed 200 MB, also
    skips the largest ones. Raises the same errors as `fetch_repository`."""
    checkout = fetch_repository(spec, cache, roots, LARGEST_BYTES)
    sizes = {file.path: file.size or 0 for file in checkout.files if file.kind == "file" and is_inside(file.path)}
    total, chosen = 0, set[str]()
    for path in sorted(sizes, key=lambda path: sizes[path]):
        if sizes[path] > LARGEST_BYTES or (total := total + sizes[path]) > MAX_BYTES:
            break
        chosen.add(path)
    files = {
        path: TreeFile(content, executable=content.startswith(b"#!"))
        for path, content in checkout.read((path for path in sizes if path in chosen), LARGEST_BYTES)
        if content is not None
    }
    if not files:
        raise InputError(f"{spec} contains no readable files; pass the folder with the starter code")
    base, dirty = checkout.repository.commit, False
    if base is None and (head := _head(spec)) is not None:
        base, dirty = head, True
    notes = (*checkout.notes, *_left_out(checkout, files))
    return Starter(_absolute(spec), checkout.repository.id, files, base, dirty, notes, checkout.written)


def is_inside(path: str) -> bool:
    """Returns whether a path is a plain relative path outside `.git`."""
    parts = path.split("/")
    return bool(path) and "\0" not in path and not any(p in ("", ".", "..") or p.lower() == ".git" for p in parts)


def _absolute(spec: str) -> str:
    for path, mark, commit in ((spec, "", ""), spec.rpartition("@")):
        if path and Path(path).expanduser().is_dir():
            return f"{Path(path).expanduser().resolve()}{mark}{commit}"
    return spec


def _head(spec: str) -> str | None:
    folder = Path(spec.removeprefix("file://")).expanduser()
    directory = git_directory.find(folder.resolve()) if folder.is_dir() else None
    return directory.commit("HEAD") if directory is not None else None


def _left_out(checkout: Checkout, files: dict[str, TreeFile]) -> Iterator[str]:
    kinds = Counter(file.kind for file in checkout.files)
    if count := kinds["link"]:
        yield f"left out: {count} symbolic link{'s' * (count > 1)}"
    if submodules := [file.path for file in checkout.files if file.kind == "submodule"]:
        some = ", ".join(submodules[:3]) + (" …" if len(submodules) > 3 else "")
        count = len(submodules)
        yield (
            f"left out: {count} {SUBMODULE}{'s' * (count > 1)} ({some}); --data {submodules[0]}=FOLDER provides "
            "a copy of its files"
        )
    large = [file.path for file in checkout.files if file.kind == "file" and file.path not in files]
    if large:
        some = ", ".join(large[:3]) + (" …" if len(large) > 3 else "")
        files_over = f"{len(large)} file{'s' * (len(large) > 1)}"
        yield f"left out: {files_over} too large or unreadable ({some}); see --data"
    pointers = [path for path, file in files.items() if file.content.startswith(_LFS)]
    if pointers:
        are = "files are Git LFS pointers" if len(pointers) > 1 else "file is a Git LFS pointer"
        yield f"{len(pointers)} {are} without content, such as {pointers[0]}; run git lfs pull to fetch the content"
    notebooks = [path for path in files if path.endswith(".ipynb")]
    if notebooks:
        named = f"{len(notebooks)} notebooks are" if len(notebooks) > 1 else "1 notebook is"
        yield f"{named} read as text, such as {notebooks[0]}: cells are not run, and their packages are not installed"
