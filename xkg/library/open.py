"""Opens the storage at a library's address."""

import re
from pathlib import Path

from xkg.errors import InputError, MissingExtraError
from xkg.library.git_place import GitPlace, is_repository
from xkg.library.places import FolderPlace, ObjectPlace, OtherPlace, Place, WebPlace


def whole_address(place: str) -> str:
    """Converts a folder to an absolute path, so that the address does not depend on the working folder. Returns any
    other address unchanged."""
    is_folder = "://" not in place and not re.match(r"git@[\w.-]+:", place)
    return str(Path(place).expanduser().absolute()) if is_folder or Path(place).exists() else place


def open_place(place: str, cache: Path) -> Place:
    """Opens a folder, an http, https or s3 address, a git repository, or any other address that fsspec supports. A git
    repository is a folder with a bare repository, or an address that ends in `.git` or begins with `git+`, `ssh:` or
    `git@host:`. `cache` is the folder for local copies. May raise `InputError` or `MissingExtraError`."""
    scheme = place.partition("://")[0] if "://" in place else ""
    if is_repository(place):
        return GitPlace(place.removeprefix("git+"), cache)
    if scheme in ("", "file"):
        return FolderPlace(Path(place.removeprefix("file://")).expanduser())
    if scheme in ("http", "https"):
        return WebPlace(place)
    try:
        return ObjectPlace(place) if scheme == "s3" else OtherPlace(place)
    except ImportError as error:
        if scheme == "s3" or error.name == "fsspec":
            raise MissingExtraError("s3" if scheme == "s3" else "library", f"a library at {scheme}://") from error
        raise InputError(f"a library at {scheme}:// needs a package that is not installed: {error}") from error
    except ValueError as error:
        from fsspec import available_protocols

        known = ", ".join(sorted(available_protocols())[:40])
        raise InputError(f"{scheme}:// is not the address of a library; use a folder, or one of {known}") from error
