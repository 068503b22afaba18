"""Decides which folders on this machine callers may use."""

from collections.abc import Callable, Sequence
from pathlib import Path

from xkg.errors import ConfigError, InputError
from xkg.files import lies_under


def open_roots(configured: Sequence[Path] | None) -> tuple[Path, ...]:
    """Returns the folders that may contain working copies, with links resolved. By default, only the folder in which
    the server was started is allowed. To avoid exposing the home folder by accident, the file system root and folders
    that contain the home folder are never allowed by default.

    Raises `ConfigError` if a configured root is not a folder."""
    if configured is None:
        started = Path.cwd().resolve()
        return (started,) if may_be_opened(started) else ()
    roots = tuple(root.expanduser().resolve() for root in configured)
    for root in roots:
        if not root.is_dir():
            raise ConfigError(f"serve.roots: {root} is not a folder; correct it in xkg.yaml or the environment")
    return roots


def may_be_opened(folder: Path) -> bool:
    """Returns whether a folder may be opened without being listed in the settings. The file system root and folders
    that contain the home folder must be listed."""
    return not Path.home().resolve().is_relative_to(folder)


def under_roots(named: str, roots: Sequence[Path]) -> Path:
    """Returns the folder that a caller requested, with links resolved. A relative path is tried under each root. Raises
    `InputError` if the folder does not exist or lies outside the roots. The error message is the same in both cases."""
    return _resolve(named, roots, Path.is_dir, "folder")


def path_under_roots(named: str, roots: Sequence[Path]) -> Path:
    """Like `under_roots`, but for a file or a folder."""
    return _resolve(named, roots, lambda path: path.is_dir() or path.is_file(), "file or folder")


def _resolve(named: str, roots: Sequence[Path], fits: Callable[[Path], bool], kind: str) -> Path:
    if not roots:
        raise InputError(
            "this server cannot open folders; set serve.roots, or start a stdio server in the repository's folder"
        )
    for root in roots:
        try:
            path = (root / named).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            continue
        if lies_under(path, roots) and fits(path):
            return path
    opened = ", ".join(str(root) for root in roots)
    raise InputError(
        f"{named[:200]!a} is not a {kind} under {opened}; choose one that is, or ask the operator to extend serve.roots"
    )
