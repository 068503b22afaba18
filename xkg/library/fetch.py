"""Fetches a single paper from a library without storing it in the graph."""

import tempfile
from contextlib import closing
from pathlib import Path

from xkg.errors import UnknownIdError
from xkg.library.heads import files_of, open_head
from xkg.library.open import open_place, whole_address
from xkg.library.packages import contents, unpack
from xkg.library.places import download
from xkg.library.selection import named
from xkg.library.state import FOLDER, Seen
from xkg.model import PaperBundle


def fetch(kg: Path, place: str, name: str) -> PaperBundle:
    """Returns the library's version of the paper with the given id or title. The levels of the paper's code are claims
    by the library. May raise `UnknownIdError`, `AmbiguousIdError`, `UnreachableError` or `UnsafeInputError`."""
    place = whole_address(place)
    with Seen(kg, place) as seen, closing(open_place(place, kg / FOLDER)) as library:
        at = open_head(library, seen)
        if at.data is None:
            raise UnknownIdError(
                f"{library.name} does not contain a library yet; push a paper there, or check the address"
            )
        row = named(files_of(library), at.head, name, library.name)
        [version, *_] = row.versions
        with tempfile.TemporaryDirectory(dir=seen.folder) as folder:
            data = [download(library, package, Path(folder)).read_bytes() for package in version.packages]
        return contents((part for each in data for part in unpack(each)), row.paper, version, library.name).bundle
