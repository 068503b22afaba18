"""Caches parsed working copies, which users query repeatedly while editing the code."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from xkg.build.code.codebase import Codebase
from xkg.build.code.source_files import Skips, is_source, is_wanted
from xkg.build.grounding.index.block_index import BlockIndex
from xkg.build.grounding.index.symbol_index import SymbolIndex
from xkg.build.parsing.parsers import Parsers, deadly, elsewhere
from xkg.build.repositories.checkout import Checkout, read_folder

_CACHE_SIZE = 4
_BATCH = 500  # files in memory at a time


@dataclass(frozen=True)
class WorkingCopy:
    """A folder and the content that was parsed from it."""

    folder: Path
    codebase: Codebase

    @cached_property
    def index(self) -> BlockIndex:
        return BlockIndex(SymbolIndex(self.codebase))

    def __str__(self) -> str:
        unread = "; ".join(filter(None, (deadly(self.codebase), *elsewhere(self.codebase))))
        return f"{self.folder}, {len(self.codebase.modules)} source files" + (f" ({unread})" if unread else "")


class WorkingCopies:
    """Caches parsed folders, and drops the least recently used ones. Parses a folder again only if one of its source
    files has changed.

    Thread-safe. A request waits only if its own folder is being parsed."""

    def __init__(self, parsers: Parsers) -> None:
        self._parsers = parsers
        self._lock = threading.Lock()
        self._parsed: OrderedDict[Path, tuple[str, Future[WorkingCopy]]] = OrderedDict()

    def read(self, folder: Path, roots: Sequence[Path] | None = None) -> WorkingCopy:
        """Returns the folder's current content, including uncommitted changes. `roots` has the same meaning as in
        `read_folder`. Raises `InputError` if the folder has no readable source, and the same errors as
        `Parsers.repository`."""
        checkout = read_folder(folder, roots)
        place, state = folder.resolve(), _content_hash(checkout)
        with self._lock:
            cached = self._parsed.get(place)
            is_new = cached is None or cached[0] != state
            state, parsed = (state, Future[WorkingCopy]()) if cached is None or is_new else cached
            self._parsed[place] = state, parsed
            self._parsed.move_to_end(place)
            while len(self._parsed) > _CACHE_SIZE:
                self._parsed.popitem(last=False)
        if is_new:
            try:
                parsed.set_result(WorkingCopy(place, self._parsers.repository(checkout)))
            except BaseException as error:
                parsed.set_exception(error)
                with self._lock:
                    if self._parsed.get(place) == (state, parsed):
                        del self._parsed[place]
        return parsed.result()


def _content_hash(checkout: Checkout) -> str:
    """Hashes the source files. Modification times are too coarse to detect an edit directly after a query."""
    digest = hashlib.sha256(f"{checkout.repository.commit}\0".encode())
    skipped = Skips()
    paths = [f.path for f in checkout.files if is_wanted(f, skipped)]
    for at in range(0, len(paths), _BATCH):
        for path, content in checkout.read(paths[at : at + _BATCH]):
            if content is None or is_source(path, content, skipped):
                data = b"\0" if content is None else content
                digest.update(f"{path}\0{len(data)}\0".encode("utf-8", "surrogatepass") + data)
    return digest.hexdigest()
