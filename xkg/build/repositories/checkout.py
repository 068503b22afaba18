"""Reads a git URL, a git directory or a plain folder as a `Checkout`.

Never checks out any files. Reads files from git's object database, or from a folder without following links.

For a folder with `@commit`, reads that commit. For a clean git work tree without `@commit`, reads HEAD. For any other
work tree, reads the tracked and unignored files, because these are what the caller sees. For a folder without `.git`,
reads all files. Files from a folder are identified by their content."""

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from xkg.build.repositories import git, git_directory
from xkg.build.repositories.clone import LARGEST_BYTES, MAX_READ_BYTES, clone, clone_path, remote_commit
from xkg.build.repositories.git_directory import GitDirectory, read_small
from xkg.build.repositories.licenses import FILE_NAME, spdx
from xkg.errors import InputError, UnreachableError, UnsafeInputError
from xkg.files import lies_under
from xkg.model import Repository, slug
from xkg.sandbox.isolation import programs
from xkg.text.address import RepositoryAddress, repository_address

MAX_FILES = 200_000
_MOST_SLASHES = 4  # in a branch name
_MOST_CODE = 500  # the maximum number of files whose last change is looked up

_REFERENCE = re.compile(r"(?!.*(\.\.|@\{|//))[\w][\w./+#=-]*")
_SUBMODULE = re.compile(r"(?m)^[ \t]*path[ \t]*=([^\r\n]*)")
_NOT_WALKED = {".git", ".hg", ".svn", "__pycache__"}


class File(NamedTuple):
    """A path in a checkout. `size` is None if the content is unavailable, for example because the object is missing."""

    path: str
    kind: Literal["file", "link", "submodule"]
    size: int | None


@dataclass(frozen=True)
class Checkout:
    """A repository at one commit, or the current files in a folder. `notes` tells the user which files were read.

    `committed` is the date of the commit (YYYY-MM-DD), and `written` is the date of the last change to the repository's
    Python files. For a folder's current files, `committed` is None, and `written` is the date of HEAD, or None without
    a commit. `read` yields (path, bytes) in the requested order.
    The bytes are None for a file that is unknown, unreadable or larger than `most`. `most` is at most `LARGEST_BYTES`.
    """

    repository: Repository
    files: tuple[File, ...]
    notes: tuple[str, ...] = ()
    _read: Callable[[Sequence[str]], Iterator[bytes | None]] = field(default=lambda _: iter(()), repr=False)
    committed: str | None = None
    written: str | None = None

    def read(self, paths: Iterable[str], most: int = MAX_READ_BYTES) -> Iterator[tuple[str, bytes | None]]:
        sizes = {f.path: f.size for f in self.files if f.kind == "file"}
        wanted = list(paths)
        honest = [p for p in wanted if (size := sizes.get(p)) is not None and size <= most]
        contents = dict(zip(honest, self._read(honest), strict=True))
        return ((path, contents.get(path)) for path in wanted)


def fetch_repository(
    spec: str, cache: Path, roots: Sequence[Path] | None = None, largest: int = MAX_READ_BYTES
) -> Checkout:
    """Returns the repository that `spec` refers to. `spec` is `https://host/owner/name`, `file://…`, a folder or a bare
    git directory, optionally followed by `@commit`. The commit may be a full or abbreviated commit id, a branch or a
    tag. The default is HEAD.

    For each URL and commit, a shallow bare clone without files larger than `largest` bytes is kept under `cache` and
    reused. Local folders are read in place. The `.git` of a local folder must not point outside `roots`, unless `roots`
    is None. Raises `InputError` with a one-line message if the repository does not exist, is unreachable or empty, or
    lacks the commit."""
    spec = spec.strip()
    if not spec or spec.startswith("-") or "\0" in spec or "\n" in spec:
        raise InputError(f"{spec!r} is not a repository; pass an https URL, a folder or a git directory")
    scheme = re.match(r"([A-Za-z][\w+.-]*)://", spec)
    if scheme and scheme[1].lower() == "https":
        return _fetch_url(spec, cache, largest)
    if scheme and scheme[1].lower() == "file":
        parts = urlsplit(spec)
        if parts.netloc not in ("", "localhost"):
            raise InputError(f"{spec}: a file:// URL must be a path on this machine (file:///path)")
        return _read_local(*_split_commit(unquote(parts.path)), spec, roots)
    if scheme or re.match(r"[\w.-]+@[\w.-]+:|[A-Za-z]\w+::", spec):
        raise InputError(f"{spec}: only https:// and file:// URLs and folders are supported; use the https URL")
    return _read_local(*_split_commit(spec), spec, roots)


def require_local(spec: str) -> None:
    """Raises `InputError` if `spec` is a local folder that does not exist. Does not check URLs."""
    spec = spec.strip()
    if not re.match(r"[A-Za-z][\w+.-]*:|[\w.-]+@[\w.-]+:", spec):
        path, _ = _split_commit(spec)
        _require_folder(path, spec)


def _require_folder(path: Path, spec: str) -> None:
    if not path.exists():
        raise InputError(f"{spec} does not exist; pass a folder, a git directory or an https URL")
    if not path.is_dir():
        raise InputError(f"{spec} is a file, not a repository; pass its folder")


def fetched(repository: Repository, cache: Path) -> Checkout | None:
    """Returns the repository if it is already in `cache`. Otherwise, returns None. Does not fetch anything."""
    if not repository.commit or not repository.url:
        return None
    folder = clone_path(repository.url, repository.commit, cache)
    return _checkout_of_clone(folder, repository.commit, repository.id, repository.url) if folder.is_dir() else None


def read_folder(folder: Path, roots: Sequence[Path] | None = None) -> Checkout:
    """Returns the current files in a folder: the tracked and unignored files in a git work tree, or else all files. The
    id is `local:<name>`, because contents are read only on request. `commit` is None. For a git directory or a clone
    that was never checked out, reads the HEAD commit instead. `roots` has the same meaning as in `fetch_repository`.

    Raises `InputError` if the folder does not exist, is a file, or is empty."""
    if not folder.is_dir():
        state = "is a file" if folder.exists() else "does not exist"
        raise InputError(f"{folder} {state}; pass the folder of a repository")
    path = folder.resolve()
    _require_under(path, roots, str(folder))
    directory = git_directory.find(path, roots)
    if directory is not None and directory.folder == path:
        return _read_local(path, None, str(folder), roots)
    names = None
    notes = () if directory is not None else _plain(path)
    if directory is not None:
        try:
            names = _unignored(directory, path)
        except InputError:  # without git or with a broken repository, the folder's files can still be read
            names = None
        if names == [] and directory.commit("HEAD"):
            return _read_local(path, None, str(folder), roots)
    listed = _walk(path) if names is None else names
    return _as_it_lies(path, listed, str(folder), _name(path), "", notes, named=False)


def _split_commit(text: str) -> tuple[Path, str | None]:
    path = Path(text).expanduser()
    if os.path.lexists(path) or "@" not in text:
        return path, None
    path_text, _, commit = text.rpartition("@")
    return Path(path_text).expanduser(), commit


def _check_reference(commit: str | None, spec: str) -> None:
    if commit is not None and not _REFERENCE.fullmatch(commit):
        raise InputError(f"{spec}: {commit!r} is not a valid commit, branch or tag name")


# --- URLs -------------------------------------------------------------------------------------------------------------


def _fetch_url(spec: str, cache: Path, largest: int) -> Checkout:
    if "@" in spec.split("/")[2]:
        raise InputError("a repository URL must not contain a user or password; use the plain https URL")
    address = repository_address(spec)
    if address is None:
        raise InputError(f"{spec}: not a repository URL (https://host/owner/name)")
    if address.within and not address.reference:
        raise InputError(f"{spec} points inside a repository; pass {address.url}, optionally with @COMMIT")
    _check_reference(address.reference or None, spec)
    if address.within:
        address = _with_branch(address)
    commit = address.reference or None
    folder, found = clone(address.url, commit, cache, largest)
    identity = f"{address.server}/{address.path}@{found}"
    checkout = _checkout_of_clone(folder, found, identity, address.url, spec)
    notes = (f"the address points to {address.within}, but the whole repository was read",) if address.within else ()
    repository = checkout.repository.model_copy(update={"reference": commit})
    return replace(checkout, repository=repository, notes=(*checkout.notes, *notes))


def _with_branch(address: RepositoryAddress) -> RepositoryAddress:
    """Completes the branch name in a page address, because the parsed reference stops at the first slash and branch
    names may contain more."""
    words = unquote(address.within).split("/")
    for count in range(min(len(words), _MOST_SLASHES) + 1):
        reference = "/".join([address.reference, *words[:count]])
        try:
            remote_commit(address.url, reference)
        except UnreachableError:
            raise
        except InputError:
            continue
        return address._replace(reference=reference, within="/".join(words[count:]))
    return address


def _checkout_of_clone(folder: Path, commit: str, identity: str, url: str, spec: str | None = None) -> Checkout:
    directory = git_directory.ours(folder)
    try:
        head = git.find_commit(directory, commit)
    except git.GitError as error:
        raise InputError(f"{spec or url}: git cannot read the fetched copy ({error})") from error
    if head is None:
        raise InputError(f"{spec or url}: the fetched copy is damaged; delete {folder} and fetch it again")
    return _at_commit(directory, head, _tracked(directory, head, spec or url), identity, url, spec or url)


# --- local ------------------------------------------------------------------------------------------------------------


def _read_local(path: Path, commit: str | None, spec: str, roots: Sequence[Path] | None) -> Checkout:
    try:
        return _checkout_of(path, commit, spec, roots)
    except git.GitError as error:
        raise InputError(f"{spec}: git cannot read it ({error}); repair it with git, or fetch it again") from error


def _checkout_of(path: Path, commit: str | None, spec: str, roots: Sequence[Path] | None) -> Checkout:
    _check_reference(commit, spec)
    _require_folder(path, spec)
    path = path.resolve()
    _require_under(path, roots, spec)
    directory = git_directory.find(path, roots)
    if directory is None:
        if commit is not None:
            raise InputError(f"{spec}: {path.name} is not a git repository, so it has no commit {commit!r}")
        return _as_it_lies(path, _walk(path), spec, _name(path), "", _plain(path))
    url = _origin(directory)
    head = _commit(directory, commit or "HEAD")
    tracked = _tracked(directory, head, spec) if head else []
    if commit is None and directory.folder != path:
        listed = _unignored(directory, path)
        bare = head is not None and not listed  # a clone without a checkout
        if not bare and (head is None or not _is_clean(path, tracked, listed)):
            note = "the folder has uncommitted changes: its current files were read"
            checkout = _as_it_lies(path, listed, spec, _name(path), url, (note,) if head else ())
            return replace(checkout, written=head.day if head else None)
    if head is None and commit is None:
        raise InputError(f"{spec} is empty: it has no commit yet")
    if head is None:
        raise InputError(f"{spec} has no commit, branch or tag {commit!r}")
    return _at_commit(directory, head, tracked, f"local:{_name(path)}@{head.oid}", url, spec)


def _require_under(path: Path, roots: Sequence[Path] | None, spec: str) -> None:
    if roots is not None and not lies_under(path, roots):
        raise InputError(f"{spec} is outside the folders that may be read on this machine")


def _name(path: Path) -> str:
    """Returns a folder's name, or its parent's name if the folder is called `.git` or `repo`."""
    while path.name in (".git", "repo") and path.parent != path:
        path = path.parent
    return slug(re.sub(r"\.git$", "", path.name))


def _plain(path: Path) -> tuple[str, ...]:
    """Returns the notes for a folder that contains git data but is read as a plain folder."""
    if os.path.lexists(path / ".git"):
        return (
            "the folder's .git was not used: it is not a git directory, or points to a directory elsewhere that does "
            "not point back to the folder (core.worktree); the folder's current files were read",
        )
    if git_directory.is_bare_data(path):
        return ("a bare repository inside a work tree is treated as data: its current files were read",)
    return ()


def _commit(directory: GitDirectory, name: str) -> git.Commit | None:
    return git.find_commit(directory, directory.commit(name) or name)


def _origin(directory: GitDirectory) -> str:
    """Returns the https address of the remote that a folder was cloned from, or '' if it is unknown."""
    address = repository_address(directory.origin)
    known = address is not None and (address.is_of_forge or directory.origin.lower().startswith("https:"))
    return address.url if address is not None and known else ""


def _unignored(directory: GitDirectory, path: Path) -> list[str]:
    """Returns the tracked and unignored files that exist in the work tree, in order."""
    names = sorted({os.fsdecode(name) for name in git.list_files(directory, path)})
    return [name for name in names if os.path.lexists(path / name)]


def _is_clean(path: Path, tracked: Sequence[git.TreeEntry], listed: Sequence[str]) -> bool:
    """Returns whether the work tree matches the commit. Does not use git, which would run the filters and monitors in
    the repository's configuration."""
    blobs = {e.path: e for e in tracked if e.mode.startswith("100")}
    if {os.fsencode(n).decode("utf-8", "replace") for n in listed} - {e.path for e in tracked}:
        return False
    for name, entry in blobs.items():
        if entry.size is None or entry.size > MAX_READ_BYTES:
            continue
        content = read_small(path / name, MAX_READ_BYTES)
        if content is None or all(
            blob_id(c, entry.oid) != entry.oid for c in (content, content.replace(b"\r\n", b"\n"))
        ):
            return False
    return True


def blob_id(content: bytes, like: str = "") -> str:
    """Returns git's object id for a file's content, with the same hash algorithm as the id `like`."""
    digest = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return digest(b"blob %d\0" % len(content) + content).hexdigest()


def _walk(path: Path) -> list[str]:
    names = []
    for folder, folders, files in os.walk(path, followlinks=False):
        folders[:] = sorted(f for f in folders if f not in _NOT_WALKED)
        links = [f for f in folders if (Path(folder) / f).is_symlink()]
        names += [os.path.relpath(Path(folder) / name, path) for name in (*links, *files) if name not in _NOT_WALKED]
        if len(names) > MAX_FILES:
            raise UnsafeInputError(
                f"{path.name} contains more than {MAX_FILES:,} files; pass the folder that contains only the code"
            )
    return sorted(names)


# --- checkouts --------------------------------------------------------------------------------------------------------


def _tracked(directory: GitDirectory, commit: git.Commit, spec: str) -> list[git.TreeEntry]:
    try:
        entries = git.list_tree(directory, commit.oid)
    except git.GitError as error:
        raise InputError(f"{spec}: cannot list the files in {commit.oid[:12]}: {error}; fetch it again") from error
    if len(entries) > MAX_FILES:
        raise UnsafeInputError(f"{spec} contains more than {MAX_FILES:,} files")
    return entries


def _at_commit(
    directory: GitDirectory, commit: git.Commit, entries: Sequence[git.TreeEntry], identity: str, url: str, spec: str
) -> Checkout:
    by_path = {e.path: e for e in entries}
    kinds: dict[str, Literal["link", "submodule"]] = {"120000": "link", "160000": "submodule"}
    files = tuple(File(e.path, kinds.get(e.mode, "file"), e.size) for e in entries)

    def read(paths: Sequence[str]) -> Iterator[bytes | None]:
        return git.read_objects(directory, [by_path[p] for p in paths])

    code = [entry.path for entry in entries if entry.path.endswith(".py")][:_MOST_CODE]
    written = git.last_change(directory, commit, code) if code else commit
    checkout = _checkout(identity, url, commit.oid, files, (), read, spec)
    return replace(checkout, committed=commit.day, written=written.day)


def _as_it_lies(
    path: Path,
    names: Sequence[str],
    spec: str,
    name: str,
    url: str,
    notes: tuple[str, ...] = (),
    *,
    named: bool = True,
) -> Checkout:
    """Returns a folder's files. If `named` is True, identifies the files by a hash over paths, kinds and contents.
    Files that are too large to read contribute their size instead of their content."""
    files, real = [], {}
    digest = hashlib.sha256()
    outside = {f for f in {Path(raw).parent for raw in names} if not (path / f).resolve().is_relative_to(path)}
    for raw in names:
        name_in_checkout = os.fsencode(raw).decode("utf-8", "replace").replace(os.sep, "/")
        try:
            status = (path / raw).lstat()
        except OSError:  # the file was removed after it was listed
            continue
        kind: Literal["file", "link", "submodule"] = "file"
        size: int | None = None
        content = b""
        if stat.S_ISLNK(status.st_mode) or Path(raw).parent in outside:
            kind = "link"
        elif stat.S_ISDIR(status.st_mode):
            kind = "submodule"
        elif stat.S_ISREG(status.st_mode) and os.access(path / raw, os.R_OK):
            size = status.st_size
            content = (read_small(path / raw, MAX_READ_BYTES) or b"") if named and size <= MAX_READ_BYTES else b""
        files.append(File(name_in_checkout, kind, size))
        real[name_in_checkout] = path / raw
        digest.update(f"{kind}\0{size}\0{name_in_checkout}\0".encode() + hashlib.sha256(content).digest())
    identity = f"local:{name}@{digest.hexdigest()[:40]}" if named else f"local:{name}"
    if ".gitmodules" in real and not any(file.kind == "submodule" for file in files):
        files += [File(folder, "submodule", None) for folder in _empty_submodules(real[".gitmodules"], list(real))]

    def read(paths: Sequence[str]) -> Iterator[bytes | None]:
        return (read_small(real[name], LARGEST_BYTES) for name in paths)

    return _checkout(identity, url, None, tuple(files), notes, read, spec)


def _empty_submodules(stated: Path, names: Sequence[str]) -> Iterator[str]:
    """Yields the folders listed in `.gitmodules` that are empty, as in a copy without submodules."""
    for match in _SUBMODULE.finditer((read_small(stated, MAX_READ_BYTES) or b"").decode("utf-8", "replace")):
        folder = match[1].strip().strip("/")
        if folder and not any(name.startswith(f"{folder}/") for name in names):
            yield folder


def _checkout(
    identity: str,
    url: str,
    commit: str | None,
    files: tuple[File, ...],
    notes: tuple[str, ...],
    read: Callable[[Sequence[str]], Iterator[bytes | None]],
    spec: str,
) -> Checkout:
    if not files:
        raise InputError(f"{spec} is empty: it contains no files")
    if programs.wall() is None and commit is not None:
        notes = (*notes, "git ran without a sandbox on this machine (see xkg doctor)")
    bare = Checkout(Repository(id=identity, url=url, commit=commit), files, notes, read)
    candidates = sorted(f.path for f in files if "/" not in f.path and FILE_NAME.match(f.path))
    texts = [content.decode("utf-8", "replace") for _, content in bare.read(candidates) if content]
    licenses = [spdx(text) for text in texts]
    license_id = next((name for name in licenses if name != "NOASSERTION"), licenses[0] if licenses else None)
    repository = Repository(id=identity, url=url, commit=commit, license=license_id)
    return Checkout(repository, files, notes, read)
