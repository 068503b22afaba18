"""The folders of this machine that a caller may name."""

from collections.abc import Callable, Sequence
from pathlib import Path

from xkg.errors import ConfigError, InputError
from xkg.files import lies_under


def open_roots(configured: Sequence[Path] | None) -> tuple[Path, ...]:
    """The folders that may contain working copies, links resolved. If none are configured, it is the folder in which
    the server was started, unless that is the root of the file system or contains the home folder: these should not be
    open by accident.

    Raises `ConfigError` if one is not a folder."""
    if configured is None:
        started = Path.cwd().resolve()
        return (started,) if may_be_opened(started) else ()
    roots = tuple(root.expanduser().resolve() for root in configured)
    for root in roots:
        if not root.is_dir():
            raise ConfigError(f"serve.roots: {root} is not a folder; correct it in xkg.yaml or the environment")
    return roots


def may_be_opened(folder: Path) -> bool:
    """Whether a folder that is not named in the settings may be open: neither the root of the file system, nor a folder
    that contains the home folder."""
    return not Path.home().resolve().is_relative_to(folder)


def under_roots(named: str, roots: Sequence[Path]) -> Path:
    """The folder that a caller named, links resolved. A relative name is tried under each root. Raises `InputError` if
    it does not exist or, with links resolved, lies outside; the message is the same for both."""
    return _resolve(named, roots, Path.is_dir, "folder")


def path_under_roots(named: str, roots: Sequence[Path]) -> Path:
    """As `under_roots`, for a file or a folder."""
    return _resolve(named, roots, lambda path: path.is_dir() or path.is_file(), "file or folder")


def _resolve(named: str, roots: Sequence[Path], fits: Callable[[Path], bool], kind: str) -> Path:
    if not roots:
        raise InputError(
            "this server opens no folder: set serve.roots, or over stdio start it in the folder of the repository"
        )
    for root in roots:
        try:
            path = (root / named).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            continue
        if lies_under(path, roots) and fits(path):
            return path
    opened = ", ".join(str(root) for root in roots)
    raise InputError(f"{named[:200]!a} is not a {kind} under {opened}: name one that is, or have serve.roots widened")
