"""Working copies that are asked about again and again while somebody edits them."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from xkg.build.code.codebase import Codebase
from xkg.build.code.source_files import Skips, is_wanted
from xkg.build.grounding.symbol_index import SymbolIndex
from xkg.build.parsing.parsers import Parsers, deadly
from xkg.build.repositories.checkout import Checkout, read_folder

_MOST = 4
_AT_ONCE = 500  # files in memory


@dataclass(frozen=True)
class WorkingCopy:
    """A folder and what lay in it when it was read."""

    folder: Path
    codebase: Codebase

    @cached_property
    def index(self) -> SymbolIndex:
        return SymbolIndex(self.codebase)

    def __str__(self) -> str:
        unread = deadly(self.codebase)
        return f"{self.folder}, {len(self.codebase.modules)} source files" + (f" ({unread})" if unread else "")


class WorkingCopies:
    """Parsed folders, each parsed again only when a source file in it is other than it was. The few used last are
    held. Safe to use from several threads: who asks for a folder that is being parsed waits for that, others do not."""

    def __init__(self, parsers: Parsers) -> None:
        self._parsers = parsers
        self._turn = threading.Lock()
        self._parsed: OrderedDict[Path, tuple[str, Future[WorkingCopy]]] = OrderedDict()

    def read(self, folder: Path, roots: Sequence[Path] | None = None) -> WorkingCopy:
        """What lies in the folder now, changes that are not committed too. Raises `InputError` where that is no
        readable source, and what `Parsers.repository` raises. `roots` as in `read_folder`."""
        checkout = read_folder(folder, roots)
        place, state = folder.resolve(), _state(checkout)
        with self._turn:
            known = self._parsed.get(place)
            ours = known is None or known[0] != state
            state, parsed = (state, Future[WorkingCopy]()) if known is None or ours else known
            self._parsed[place] = state, parsed
            self._parsed.move_to_end(place)
            while len(self._parsed) > _MOST:
                self._parsed.popitem(last=False)
        if ours:
            try:
                parsed.set_result(WorkingCopy(place, self._parsers.repository(checkout)))
            except BaseException as error:
                parsed.set_exception(error)
                with self._turn:
                    if self._parsed.get(place) == (state, parsed):
                        del self._parsed[place]
        return parsed.result()


def _state(checkout: Checkout) -> str:
    """A hash over the sources: times of files are too coarse for an edit right after a question."""
    digest = hashlib.sha256(f"{checkout.repository.commit}\0".encode())
    skipped = Skips()
    wanted = [f.path for f in checkout.files if is_wanted(f, skipped)]
    for at in range(0, len(wanted), _AT_ONCE):
        for path, content in checkout.read(wanted[at : at + _AT_ONCE]):
            data = content if content is not None else b"\0"
            digest.update(f"{path}\0{len(data)}\0".encode("utf-8", "surrogatepass") + data)
    return digest.hexdigest()
