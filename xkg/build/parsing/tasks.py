"""The sandboxed worker's tasks for `xkg.build.parsing.parsers`, which parse papers and repositories. Imports all
parsers before the first call, because nothing can be imported afterwards."""

import encodings
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence

from pylatexenc import latex2text, latexwalker

import xkg.build.paper.pdf_html.html
import xkg.build.paper.pdf_html.pdf  # noqa: F401
from xkg.build.code.languages.grammars import load_all
from xkg.build.code.repository import parse_repository
from xkg.build.paper.read import parse_opened
from xkg.build.parsing.paper_exchange import receive_paper
from xkg.build.parsing.source_kind import source_kind
from xkg.build.parsing.typed_tasks import dumped
from xkg.build.repositories.checkout import Checkout, File
from xkg.model import Repository
from xkg.sandbox.guest.worker import Call


def _paper(call: Call) -> bytes:
    return dumped(parse_opened(receive_paper(call.payload, call.read)))


def _source_kind(call: Call) -> bytes:
    return dumped(source_kind(receive_paper(call.payload, call.read)))


def _repository(call: Call) -> bytes:
    """Returns the codebase without data that the parent process already has, and without its modules, which are sent
    separately."""

    def read(paths: Sequence[str]) -> Iterator[bytes | None]:
        return iter(list(call.read(paths))) if paths else iter(())

    files = tuple(File(path, kind, size) for path, kind, size in call.payload["files"])
    checkout = Checkout(Repository.model_validate(call.payload["repository"]), files, (), read)
    codebase = parse_repository(checkout, call.mark, call.payload["without"])
    call.mark("")  # no single file is to blame for serialization errors
    for module in codebase.modules:
        call.part(dumped(module))
    return dumped(codebase.model_copy(update={"modules": (), "files": ()}))


TASKS: Mapping[str, Callable[[Call], bytes]] = {
    "paper": _paper,
    "source-kind": _source_kind,
    "repository": _repository,
}


def _import_encodings() -> None:
    """Imports every encoding that a file may declare, because Python would otherwise import each on first use."""
    for module in pkgutil.iter_modules(encodings.__path__):
        if module.name not in ("mbcs", "oem"):  # these encodings exist only on Windows
            importlib.import_module(f"encodings.{module.name}")


load_all()
_import_encodings()
# Libraries import these modules inside functions.
for _name in ("_strptime", "heapq"):
    importlib.import_module(_name)
latex2text.get_default_latex_context_db()
latexwalker.get_default_latex_context_db()
