"""Reads a folder's `.git` without git. Finds the directories that the `.git` points to, and decides whether they may be
read.

Reads only the origin's address, the hash algorithm and `core.worktree` from an untrusted configuration. Resolves `.git`
files, `commondir`, alternates and links, and then checks the resolved path.

A git directory elsewhere (for a linked work tree, a submodule or `--separate-git-dir`) is read only if it points back
to the folder, because git writes references in both directions. An attacker can add a `.git` that points to a
repository on this machine, but cannot write into that repository. Links out of a git directory are never followed.
Alternates (`clone --shared`) are followed even though they do not point back, but must be under one of the `roots` if
`roots` is given.

A bare repository inside another work tree is treated as data, not as a repository."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xkg.errors import InputError
from xkg.files import lies_under, read_regular

_MAX_POINTER = 4096
_MAX_CONFIG = 1 << 20
_MAX_PACKED = 64 << 20
_MAX_ALTERNATES = 16
_MAX_ENTRIES = 1_000_000
_PACKED = (".pack", ".idx", ".rev")
_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')


@dataclass(frozen=True)
class GitDirectory:
    """A git directory. `folder` contains HEAD and the index, and `common` contains everything else. `folder` and
    `common` differ only for a linked work tree. `objects` contains the object directories, starting with the
    repository's own."""

    folder: Path
    common: Path
    objects: tuple[Path, ...]
    settings: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def sha256(self) -> bool:
        return self.settings.get("extensions.objectformat") == "sha256"

    @property
    def origin(self) -> str:
        """Returns the address that the repository was cloned from, or "" if none is recorded."""
        return self.settings.get("remote.origin.url", "")

    def commit(self, name: str) -> str | None:
        """Returns the object id of a branch, tag or other reference, resolved as in git, or None if there is none."""
        if _OID.fullmatch(name):
            return name
        if ".." in name:
            return None
        rules = ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
        packed = self._packed()
        for rule in rules:
            at = rule.format(name)
            if (at.startswith("refs/") or at.isupper()) and (oid := self._followed(at, packed)):
                return oid
        return None

    def _followed(self, name: str, packed: bytes) -> str | None:
        for _ in range(5):  # the same limit as in git
            text = self._loose(name)
            if text is None:
                return _in_packed(name, packed)
            if not text.startswith("ref:"):
                oid = text.split(maxsplit=1)[0] if text.strip() else ""
                return oid if _OID.fullmatch(oid) else None
            name = text[4:].strip()
            if not name.startswith("refs/") or ".." in name:
                return None
        return None

    def _loose(self, name: str) -> str | None:
        own = not name.startswith("refs/") or name.startswith(("refs/bisect/", "refs/worktree/", "refs/rewritten/"))
        base = self.folder if own else self.common
        if not _inside(base / name, base):
            return None
        content = read_small(base / name, _MAX_POINTER)
        return None if content is None else content.decode("utf-8", "replace")

    def _packed(self) -> bytes:
        return read_small(self.common / "packed-refs", _MAX_PACKED) or b""


def find(path: Path, roots: Sequence[Path] | None = None) -> GitDirectory | None:
    """Returns the readable git directory of a resolved folder, or None. If `roots` is given, all directories that the
    `.git` points to must be under one of the roots."""
    entry = path / ".git"
    if os.path.lexists(entry):
        folder = _target(entry)
        if folder is None:
            return None
        common = _common(folder)
        if common is None or not (folder == common == entry or (folder != entry and _names(folder, common, path))):
            return None
    elif _looks_bare(path) and not _in_work_tree(path):
        folder = common = path
    else:
        return None
    if not all(_under(place, roots) for place in (folder, common)) or not _inside(common / "objects", common):
        return None
    if not (common / "objects").is_dir():
        return None
    objects = tuple(_objects(common / "objects", roots))
    return GitDirectory(folder, common, objects, _settings(common))


def ours(folder: Path) -> GitDirectory:
    """Returns a bare repository created by `xkg.build.repositories.git.fetch`, in any location."""
    return GitDirectory(folder, folder, (folder / "objects",), _settings(folder))


def is_bare_data(path: Path) -> bool:
    """Returns whether a folder looks like a bare repository but is inside a work tree."""
    return not os.path.lexists(path / ".git") and _looks_bare(path) and _in_work_tree(path)


def read_small(path: Path, most: int) -> bytes | None:
    """Returns the content of a regular file of at most `most` bytes, or None for anything else, including links. Never
    blocks."""
    try:
        return read_regular(path, most, links=False)
    except OSError:
        return None


def link_objects(source: Path, target: Path) -> None:
    """Fills the object directory `target` with links to the packs and loose objects in `source`. Leaves out alternates,
    links, pipes and anything else that git could execute or block on. Raises `InputError` if there are too many files.
    """
    (target / "pack").mkdir(parents=True)
    seen = 0
    for name in _entries(source):
        if name.name == "pack" and name.is_dir(follow_symlinks=False):
            for file in _entries(name.path):
                seen += 1
                if (
                    file.name.startswith("pack-")
                    and file.name.endswith(_PACKED)
                    and file.is_file(follow_symlinks=False)
                ):
                    (target / "pack" / file.name).symlink_to(file.path)
        elif len(name.name) == 2 and name.is_dir(follow_symlinks=False):
            plain = True
            for file in _entries(name.path):
                seen += 1
                plain = plain and file.is_file(follow_symlinks=False)
            if plain:
                (target / name.name).symlink_to(name.path)
        if seen > _MAX_ENTRIES:
            raise InputError(f"{source} contains more than {_MAX_ENTRIES:,} files; pack it (git gc) and try again")


def _entries(folder: str | Path) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return


def _target(entry: Path) -> Path | None:
    """Returns the git directory that a `.git` is or points to."""
    if not entry.is_symlink() and entry.is_dir():
        return entry
    text = read_small(entry, _MAX_POINTER)
    if text is not None:
        if not text.startswith(b"gitdir:"):
            return None
        entry = entry.parent / os.fsdecode(text.removeprefix(b"gitdir:").strip())
    return _resolved(entry)


def _common(folder: Path) -> Path | None:
    """Returns the directory with a git directory's refs and objects. Returns None if there is a `commondir` file in a
    folder in which git itself would not create one."""
    if not os.path.lexists(folder / "commondir"):
        return folder
    text = read_small(folder / "commondir", _MAX_POINTER)
    common = None if text is None else _resolved(folder / os.fsdecode(text.strip()))
    return common if common is not None and folder.parent == common / "worktrees" else None


def _names(folder: Path, common: Path, path: Path) -> bool:
    """Returns whether a git directory elsewhere records `path` as its work tree."""
    if folder != common:
        text = read_small(folder / "gitdir", _MAX_POINTER)
        return text is not None and _resolved(folder / os.fsdecode(text.strip()), file=True) == path / ".git"
    tree = _settings(folder).get("core.worktree", "")
    return bool(tree) and _resolved(folder / tree) == path


def _resolved(path: Path, *, file: bool = False) -> Path | None:
    try:
        place = path.parent.resolve(strict=True) / path.name if file else path.resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    return place if file or place.is_dir() else None


def _looks_bare(path: Path) -> bool:
    return (path / "objects").is_dir() and (path / "refs").is_dir() and (path / "HEAD").is_file()


def _in_work_tree(path: Path) -> bool:
    """Returns whether a folder is inside a work tree: a parent folder has a `.git` that does not contain it."""
    return any(os.path.lexists(parent / ".git") and not path.is_relative_to(parent / ".git") for parent in path.parents)


def _under(path: Path, roots: Sequence[Path] | None) -> bool:
    return roots is None or lies_under(path, roots)


def _inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder)
    except (OSError, ValueError, RuntimeError):
        return False


def _objects(first: Path, roots: Sequence[Path] | None) -> Iterator[Path]:
    """Yields an object directory and, recursively, the alternates that may be read."""
    waiting, known = [first.resolve()], set[Path]()
    while waiting and len(known) <= _MAX_ALTERNATES:
        at = waiting.pop(0)
        if at in known:
            continue
        known.add(at)
        yield at
        if not _inside(at / "info", at):
            continue
        for line in (read_small(at / "info" / "alternates", _MAX_CONFIG) or b"").splitlines():
            if line and not line.startswith((b"#", b'"')):
                other = _resolved(at / os.fsdecode(line))
                if other is not None and _under(other, roots):
                    waiting.append(other)


def _settings(folder: Path) -> dict[str, str]:
    """Returns the last value of each setting in a configuration file. Ignores included files. Names are in lower case
    except for the quoted part."""
    settings: dict[str, str] = {}
    section = ""
    for line in (read_small(folder / "config", _MAX_CONFIG) or b"").decode("utf-8", "replace").split("\n"):
        if head := _SECTION.match(line):
            section = head[1].lower() + (f".{head[2]}" if head[2] is not None else "")
            line = line[head.end() :]
        name, equals, value = line.partition("=")
        if equals:
            settings[f"{section}.{name.strip().lower()}"] = value.strip().strip('"')
    return settings


def _in_packed(name: str, packed: bytes) -> str | None:
    match = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(name.encode()) + rb"$", packed, re.MULTILINE)
    oid = match[1].decode() if match else ""
    return oid if _OID.fullmatch(oid) else None
