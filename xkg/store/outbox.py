"""Stores newly built papers as bundle files if the graph's server is unreachable, so that they can be sent later."""

from collections.abc import Iterator, Sequence
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
            earlier = [path for path, paper in _papers(folder) if paper == bundle.paper.id]
            new = bundles.write(folder, bundle).name
            for path in earlier:
                if path.name != new:
                    path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written ({error.strerror}); free up space, then try again") from error


def waiting(kg: Path) -> list[Path]:
    """Returns the files of papers waiting to be sent, oldest first."""
    return sorted((kg / FOLDER).glob("[!.]*.json"), key=lambda path: (path.stat().st_mtime_ns, path.name))


def _papers(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in folder.glob("[!.]*.json"):
        try:
            yield path, bundles.read(path).paper.id
        except StoreError:
            continue  # the damage will be reported when the file is sent
