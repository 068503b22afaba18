"""Stores newly built papers as bundle files if the graph's server is unreachable, so that they can be sent later."""

from collections.abc import Sequence
from pathlib import Path

from xkg.errors import StoreError
from xkg.files import private_folder
from xkg.model import PaperBundle
from xkg.store import bundles

FOLDER = "outbox"


def enqueue(kg: Path, built: Sequence[PaperBundle]) -> None:
    """Stores papers in the graph's folder, replacing earlier files for the same papers. Raises `StoreError` if the
    folder cannot be written."""
    folder = kg / FOLDER
    try:
        private_folder(folder)
        for bundle in built:
            new = bundles.write(folder, bundle).name
            for path in folder.glob(f"{new.rpartition('-')[0]}-*.json"):  # matches all stored states of the paper
                if path.name != new:
                    path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written ({error.strerror}); free up space, then try again") from error


def waiting(kg: Path) -> list[Path]:
    """Returns the files of papers waiting to be sent, oldest first."""
    return sorted((kg / FOLDER).glob("[!.]*.json"), key=lambda path: (path.stat().st_mtime_ns, path.name))
