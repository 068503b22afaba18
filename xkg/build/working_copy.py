"""Working copies that are asked about again and again while somebody edits them."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from xkg.build.codebase import Codebase
from xkg.build.fetch import Checkout, read_folder
from xkg.build.parse.repository import parse_repository
from xkg.build.parse.selection import Skips, is_wanted
from xkg.build.symbol_index import SymbolIndex

_MOST = 4


@dataclass(frozen=True)
class WorkingCopy:
    """A folder and what lay in it when it was read."""

    folder: Path
    codebase: Codebase

    @cached_property
    def index(self) -> SymbolIndex:
        return SymbolIndex(self.codebase)

    def __str__(self) -> str:
        return f"{self.folder}, {len(self.codebase.modules)} source files"


class WorkingCopies:
    """Parsed folders, each parsed again only when a source file in it is other than it was. The few used last are
    held. Safe to use from several threads."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._parsed: OrderedDict[Path, tuple[str, WorkingCopy]] = OrderedDict()

    def read(self, folder: Path, roots: Sequence[Path] | None = None) -> WorkingCopy:
        """What lies in the folder now, changes that are not committed too. Raises `InputError` where that is no
        readable source. `roots` as in `read_folder`."""
        checkout = read_folder(folder, roots)
        key, state = folder.resolve(), _state(checkout)
        with self._turn:
            known = self._parsed.get(key)
            if known is None or known[0] != state:
                known = self._parsed[key] = (state, WorkingCopy(key, parse_repository(checkout)))
                while len(self._parsed) > _MOST:
                    self._parsed.popitem(last=False)
            self._parsed.move_to_end(key)
            return known[1]


def _state(checkout: Checkout) -> str:
    """A hash over the sources: times of files are too coarse for an edit right after a question."""
    digest = hashlib.sha256(f"{checkout.repository.commit}\0".encode())
    skipped = Skips()
    wanted = [f.path for f in checkout.files if is_wanted(f, skipped)]
    for path, content in checkout.read(wanted):
        data = content if content is not None else b"\0"
        digest.update(f"{path}\0{len(data)}\0".encode("utf-8", "surrogatepass") + data)
    return digest.hexdigest()
