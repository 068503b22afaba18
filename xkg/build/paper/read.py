"""A paper from disk: which file is the main one, and which parser reads it."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from xkg.build.paper.archive import LARGEST_ARCHIVE, is_archive, require_small_archive, unpack
from xkg.build.paper.document import Document
from xkg.build.paper.files import LARGEST_TEXT, FolderReader, MemoryReader, PaperFiles, Reader, too_large
from xkg.build.paper.latex.document import parse_latex
from xkg.build.paper.markdown.document import parse_markdown
from xkg.errors import InputError, UnsafeInputError

_HTML = (".html", ".htm", ".xhtml")
LATEX, _MARKDOWN = (".tex", ".ltx", ".latex"), (".md", ".markdown", ".mmd", ".txt")
LARGEST_PDF, LARGEST_HTML = 100_000_000, 50_000_000
_CLASS = re.compile(r"^[^%\n]{0,200}\\document(?:class|style)\b(?:\s*\[[^\]]{0,500}\])?\s*\{([^{}]*)\}", re.MULTILINE)
_FAVOURED = re.compile(r"(?i)^(main|paper|ms|article|manuscript|root|arxiv|camera[_-]?ready|final)")
_ARXIV_NAME = re.compile(
    r"(?ai)^(?:arxiv[-_.]?)?(\d{4}\.\d{4,5})(?:v\d+)?(?:\.(?:tar|gz|tgz|zip|tex|md|pdf|html|tar\.gz))*$"
)


@dataclass(frozen=True)
class PaperOnDisk:
    """What a path names, before any of it is parsed: `reader` gives the files of the folder, or of the folder around
    the file; of a file `head` is how it begins, `size` its bytes and `whole` gives them all."""

    path: Path
    folder: bool
    reader: Reader
    whole: Callable[[], bytes]
    head: bytes = b""
    size: int = 0


def parse_paper(path: Path) -> Document:
    """The paper at `path`: a .tex, .md, .pdf or .html file, a folder, or an archive as arXiv gives it (.tar.gz,
    .tar, .zip, .gz). In this process: `xkg.build.parsing.parsers` has a confined one do it.

    Raises `InputError` where there is no paper in it, `UnsafeInputError` for what is larger than any honest paper or
    reaches outside its folder. All else that is odd is told in `Document.warnings`."""
    return parse_opened(paper_on_disk(path))


def paper_on_disk(path: Path) -> PaperOnDisk:
    """Raises `InputError` where nothing is there or may be read, `UnsafeInputError` for a link."""
    if path.is_symlink():
        raise UnsafeInputError(f"{path} is a symbolic link; name the paper's own file or folder")
    if path.is_dir():
        return PaperOnDisk(path, True, FolderReader(path.resolve()), bytes)
    if not path.exists():
        raise InputError(f"{path} does not exist; name a .tex, .md, .pdf or .html file, a folder or an arXiv archive")
    if not path.is_file():
        raise InputError(
            f"{path} is no regular file; name a .tex, .md, .pdf or .html file, a folder or an arXiv archive"
        )
    try:
        with path.open("rb") as file:
            head, size = file.read(1024), os.fstat(file.fileno()).st_size
    except OSError as error:
        raise InputError(f"{path} may not be read; mend its permissions") from error
    return PaperOnDisk(path, False, FolderReader(path.parent.resolve()), lambda: _whole(path), head, size)


def _whole(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LARGEST_ARCHIVE)


def parse_opened(found: PaperOnDisk) -> Document:
    """The paper, parsed; raises as `parse_paper`."""
    return _named(found.path, _parsed(found))


def _parsed(found: PaperOnDisk) -> Document:
    path, head = found.path, found.head
    if found.folder:
        return _parse_folder(found.reader, path)
    if is_archive(head):
        require_small_archive(found.size, path)
        return _parse_folder(MemoryReader(unpack(found.whole(), path)), path)
    if b"%PDF-" in head:
        from xkg.build.paper.pdf_html.pdf import parse_pdf  # pdfium is loaded for a PDF alone

        _require_at_most(LARGEST_PDF, found)
        return parse_pdf(found.whole(), path)
    if path.suffix.lower() in _HTML or head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(
        (b"<!doctype html", b"<html")
    ):
        from xkg.build.paper.pdf_html.html import parse_html  # so is lxml for HTML

        _require_at_most(LARGEST_HTML, found)
        return parse_html(found.whole(), path)
    if path.name.lower().endswith((".gz", ".tgz", ".zip", ".tar")):
        raise InputError(
            f"{path} is empty; fetch it again" if not head else f"{path} is a corrupt archive; fetch it again"
        )
    if found.size > LARGEST_TEXT:
        raise UnsafeInputError(too_large(str(path), found.size))
    files = PaperFiles(found.reader)
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


def _require_at_most(most: int, found: PaperOnDisk) -> None:
    if found.size > most:
        raise UnsafeInputError(
            f"{found.path} has {found.size // 1_000_000} MB, more than any honest paper; give the paper's LaTeX source"
        )


def looks_like_latex(text: str) -> bool:
    """Whether a text is a LaTeX document, not only a piece of one."""
    return _CLASS.search(text) is not None or "\\begin{document}" in text


def _parse_folder(reader: Reader, path: Path) -> Document:
    names = reader.names()
    scratch = PaperFiles(reader)
    latex = [name for name in names if name.lower().endswith(LATEX)]
    markdown = [name for name in names if name.lower().endswith(_MARKDOWN[:-1])]
    ranked = sorted(((_rank(name, scratch.text(name) or ""), name) for name in latex[:2000]), reverse=True)
    main = next((name for rank, name in ranked if rank[0]), None)
    main = main or _best_markdown(scratch, markdown) or next((name for rank, name in ranked if rank[-2]), None)
    if main is None:
        raise InputError(f"{path} holds no paper (no .tex or .md file with text); name the paper's main file")
    folder, _, name = main.rpartition("/")
    files = PaperFiles(reader, folder)
    _main_text(files, name, path / main)
    return parse_latex(files, name) if name.lower().endswith(LATEX) else parse_markdown(files, name)


def _rank(name: str, text: str) -> tuple[bool, bool, bool, bool, int, int, str]:
    """Higher is likelier the main file: complete, no figure or slide, with front matter, named so, on top, long."""
    kind = _CLASS.search(text)
    whole = kind is not None and "\\begin{document}" in text
    paper = whole and kind is not None and not re.search(r"standalone|beamer|letter|poster|subfiles|minimal", kind[1])
    front = "\\begin{abstract}" in text or "\\abstract" in text or "\\maketitle" in text or "\\title" in text
    return (
        whole,
        paper,
        front,
        bool(_FAVOURED.match(name.rpartition("/")[2])),
        -name.count("/"),
        len(text.strip()),
        name,
    )


def _best_markdown(files: PaperFiles, names: list[str]) -> str | None:
    def rank(name: str) -> tuple[bool, bool, int, str]:
        stem = name.rpartition("/")[2].lower()
        return (
            bool(_FAVOURED.match(stem)),
            not stem.startswith(("readme", "license", "contributing")),
            -name.count("/"),
            name,
        )

    full = [name for name in names[:2000] if (files.text(name) or "").strip()]
    return max(full, key=rank, default=None)


def _named(path: Path, document: Document) -> Document:
    """A file that arXiv named carries the paper's id."""
    match = _ARXIV_NAME.match(path.name)
    if match is None or document.arxiv_id:
        return document
    year = document.year or 2000 + int(match[1][:2])
    return document.model_copy(update={"arxiv_id": match[1], "year": year})
