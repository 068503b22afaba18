"""Finds a paper's main file on disk and parses the paper according to its format."""

import os
import posixpath
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from xkg.build.paper.archive import LARGEST_ARCHIVE, is_archive, require_small_archive, unpack
from xkg.build.paper.document import Document
from xkg.build.paper.files import LARGEST_TEXT, FolderReader, MemoryReader, PaperFiles, Reader, too_large
from xkg.build.paper.latex.document import parse_latex
from xkg.build.paper.main_file import LATEX, MainFiles, favoured, is_sample, looks_like_latex
from xkg.build.paper.markdown.document import parse_markdown
from xkg.build.paper.other_formats import SUPPORTED, not_a_paper, notice
from xkg.errors import InputError, UnsafeInputError

_HTML = (".html", ".htm", ".xhtml")
_MARKDOWN = (".md", ".markdown", ".mmd", ".txt")
_MOST_NAMED, _MOST_LOOKED_AT = 3, 20
_SHORT = 5_000  # shorter texts may have neither an abstract nor sections
LARGEST_PDF, LARGEST_HTML = 100_000_000, 50_000_000
_ARXIV_NAME = re.compile(
    r"(?ai)^(?:arxiv[-_.]?)?(\d{4}\.\d{4,5})(?:v\d+)?(?:\.(?:tar|gz|tgz|zip|tex|md|pdf|html|tar\.gz))*$"
)


@dataclass(frozen=True)
class PaperOnDisk:
    """A paper that has not been parsed yet. `reader` reads the files in the folder or, for a file, in its parent
    folder, and `whole` reads the whole file. `head` contains the file's first bytes, and `size` is its size in bytes.
    """

    path: Path
    folder: bool
    reader: Reader
    whole: Callable[[], bytes]
    head: bytes = b""
    size: int = 0


def parse_paper(path: Path) -> Document:
    """Parses the paper at `path`, which is a .tex, .md, .pdf or .html file, a folder, or an archive such as arXiv's
    (.tar.gz, .tar, .zip, .gz). Runs in this process; `xkg.build.parsing.parsers` does the same in a sandboxed one.

    Raises `InputError` if `path` does not contain a paper. Raises `UnsafeInputError` if the file is too large for a
    paper or refers to files outside the paper's folder. `Document.warnings` lists other problems."""
    return parse_opened(paper_on_disk(path))


def paper_on_disk(path: Path) -> PaperOnDisk:
    """Opens a paper. Raises `InputError` if the path is not a readable file or folder, and `UnsafeInputError` if the
    path is a link."""
    if path.is_symlink():
        raise UnsafeInputError(f"{path} is a symbolic link; pass the paper's own file or folder")
    if path.is_dir():
        return PaperOnDisk(path, True, FolderReader(path.resolve()), bytes)
    if not path.exists():
        raise InputError(
            f"{path} does not exist; pass a .tex, .md, .pdf or .html file, a folder, an arXiv archive or an arXiv id "
            "such as 2402.17135"
        )
    if not path.is_file():
        raise InputError(
            f"{path} is not a regular file; pass a .tex, .md, .pdf or .html file, a folder or an arXiv archive"
        )
    try:
        with path.open("rb") as file:
            head, size = file.read(1024), os.fstat(file.fileno()).st_size
    except OSError as error:
        raise InputError(f"{path} cannot be read; fix its permissions") from error
    return PaperOnDisk(path, False, FolderReader(path.parent.resolve()), lambda: _whole(path), head, size)


def _whole(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LARGEST_ARCHIVE)


def parse_opened(paper: PaperOnDisk) -> Document:
    """Parses an opened paper. Raises the same errors as `parse_paper`."""
    meaning = None if paper.folder else not_a_paper(paper.path.name, paper.head)
    document = None if meaning else _parsed(paper)
    if document is not None:
        meaning = notice(document)
        if document.format == "latex" and is_sample(document.title, document.text):
            meaning = "the sample paper from a template; pass your paper's main file"
    if document is None or meaning:
        raise InputError(f"{paper.path} is {meaning}")
    parts = {"abstract": document.abstract, "section headings": document.sections}
    missing = [name for name, found in parts.items() if not found and len(document.text) > _SHORT]
    if missing:
        document = _with_warning(document, f"no {' and no '.join(missing)} found because the markup was not recognised")
    return _named(paper.path, document)


def _parsed(paper: PaperOnDisk) -> Document:
    path, head = paper.path, paper.head
    if paper.folder:
        return _parse_folder(paper.reader, path)
    if is_archive(head):
        require_small_archive(paper.size, path)
        return _parse_folder(MemoryReader(unpack(paper.whole(), path)), path)
    if b"%PDF-" in head:
        from xkg.build.paper.pdf_html.pdf import parse_pdf  # load pdfium only for PDFs

        _require_at_most(LARGEST_PDF, paper)
        return parse_pdf(paper.whole(), path)
    if path.suffix.lower() in _HTML or head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(
        (b"<!doctype html", b"<html")
    ):
        from xkg.build.paper.pdf_html.html import parse_html  # load lxml only for HTML

        _require_at_most(LARGEST_HTML, paper)
        return parse_html(paper.whole(), path)
    if path.name.lower().endswith((".gz", ".tgz", ".zip", ".tar")):
        raise InputError(
            f"{path} is empty; download it again" if not head else f"{path} is a corrupt archive; download it again"
        )
    if paper.size > LARGEST_TEXT:
        raise UnsafeInputError(too_large(str(path), paper.size))
    if (
        b"\0" in head
        and path.suffix.lower() not in (*LATEX, *_MARKDOWN)
        and not head.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    ):
        raise InputError(f"{path} is not text; {SUPPORTED}")
    files = PaperFiles(paper.reader)
    text = _main_text(files, path.name, path)
    latex = path.suffix.lower() in LATEX or (path.suffix.lower() not in _MARKDOWN and looks_like_latex(text))
    return parse_latex(files, path.name) if latex else parse_markdown(files, path.name)


def _main_text(files: PaperFiles, name: str, path: Path) -> str:
    try:
        return files.main(name)
    except UnsafeInputError:
        raise
    except InputError as error:
        raise InputError(str(error).replace(name, str(path), 1)) from error


def _require_at_most(most: int, paper: PaperOnDisk) -> None:
    if paper.size > most:
        raise UnsafeInputError(
            f"{paper.path} is {paper.size // 1_000_000} MB, too large for a paper; use the paper's LaTeX source"
        )


def _parse_folder(reader: Reader, path: Path) -> Document:
    names = reader.names()
    scratch = PaperFiles(reader)
    markdown = [name for name in names if name.lower().endswith(_MARKDOWN[:-1])]
    found = MainFiles(scratch, names)
    main = found.best() or _best_markdown(scratch, markdown) or found.fragment()
    if main is None:
        raise InputError(_without_paper(path, names, reader))
    folder, _, name = main.rpartition("/")
    files = PaperFiles(reader, folder)
    text = _main_text(files, name, path / main)
    if meaning := not_a_paper(name, text[:1024].encode()):
        raise InputError(f"{path} is {meaning}")
    if not name.lower().endswith(LATEX):
        return parse_markdown(files, name)
    document = parse_latex(files, name)
    others = found.others({posixpath.normpath(posixpath.join(folder, span.path)) for span in document.spans})
    return _with_warning(document, f"{main} was read; {_listed(others)}") if others else document


def _without_paper(path: Path, names: list[str], reader: Reader) -> str:
    """Explains why a folder does not contain a paper, for example because all formats are unsupported."""
    for name in names[:_MOST_LOOKED_AT]:
        with suppress(InputError):
            if meaning := not_a_paper(name, (reader.read(name) or b"")[:1024]):
                return f"{path / name} is {meaning}"
    return f"{path} contains no paper (no .tex or .md file with text); pass the paper's main file"


def _with_warning(document: Document, line: str) -> Document:
    return document.model_copy(update={"warnings": (line, *document.warnings)})


def _listed(others: list[str]) -> str:
    some = ", ".join(others[:_MOST_NAMED]) + (f" and {len(others) - _MOST_NAMED} more" if others[_MOST_NAMED:] else "")
    stand = "are also papers" if len(others) > 1 else "is also a paper"
    return f"{some} {stand} and can be passed instead"


def _best_markdown(files: PaperFiles, names: list[str]) -> str | None:
    def rank(name: str) -> tuple[bool, bool, int, str]:
        stem = name.rpartition("/")[2].lower()
        return (
            favoured(stem),
            not stem.startswith(("readme", "license", "contributing")),
            -name.count("/"),
            name,
        )

    full = [name for name in names[:2000] if (files.text(name) or "").strip()]
    return max(full, key=rank, default=None)


def _named(path: Path, document: Document) -> Document:
    """Adds the arXiv id from the file name if the text has none."""
    match = _ARXIV_NAME.match(path.name)
    if match is None or document.arxiv_id:
        return document
    year = document.year or 2000 + int(match[1][:2])
    return document.model_copy(update={"arxiv_id": match[1], "year": year})
