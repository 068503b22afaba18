"""Compares a paper parsed from PDF with the same paper parsed from its LaTeX source: `python -m evaluation.pdf
FOLDER…`.

Each folder contains one paper's source. The paper is typeset in a temporary folder (`pdflatex` and `bibtex` or `biber`,
in Debian's `texlive-latex-extra`, `texlive-publishers`, `texlive-science`, `texlive-fonts-extra`, `cm-super` and
`biber`). Missing figures and other TeX errors are ignored. The comparison covers the items listed in
`evaluation.beside_latex`. Only references, sentences and captions printed by TeX count."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pypdfium2 as pdfium

from evaluation.beside_latex import NotConvertedError, Share, compare_all, measures
from evaluation.inputs.command import run_command
from xkg.build.paper.document import Document
from xkg.build.paper.pdf_html.pdf import parse_pdf
from xkg.build.paper.read import parse_paper

_SECONDS = 120  # maximum time for a single TeX run
_ENTRY = re.compile(rb"\\(?:bibitem|entry)\b")


def typeset(folder: Path, main: str) -> bytes:
    """Returns the PDF of the paper whose main file is `main`. Leaves TeX's output files next to the source. Raises
    `NotConvertedError`."""
    source = folder / main
    place, stem = source.parent, source.stem
    environment = {**os.environ, "openin_any": "p", "openout_any": "p", "max_print_line": "1000"}
    latex = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", source.name]
    made, given = place / f"{stem}.pdf", place / f"{stem}.bbl"
    made.unlink(missing_ok=True)  # the source may have included a PDF
    before = given.read_bytes() if given.exists() else b""
    for command in (latex, ["bibtex", stem], latex, latex):
        if command[0] == "bibtex" and source.with_suffix(".bcf").exists():
            command = ["biber", "--quiet", stem]
        try:
            subprocess.run(
                command, cwd=place, env=environment, timeout=_SECONDS, capture_output=True, stdin=subprocess.DEVNULL
            )
        except FileNotFoundError as error:
            raise NotConvertedError("pdflatex is missing; install texlive-latex-extra") from error
        except subprocess.TimeoutExpired as error:
            raise NotConvertedError(f"{command[0]} took longer than {_SECONDS} s") from error
        if before and given.exists() and not _ENTRY.search(given.read_bytes()):
            given.write_bytes(before)  # BibTeX empties the .bbl if the .bib is missing
    if not made.exists():
        raise NotConvertedError("TeX produced no PDF")
    return made.read_bytes()


def prints_references(folder: Path, main: str, source: Document) -> bool:
    """Returns whether the paper typeset in a folder has a bibliography. Without the .bib file, TeX prints no
    bibliography."""
    given = (folder / main).with_suffix(".bbl")
    bodies = [source.text.encode(), given.read_bytes() if given.exists() else b""]
    return any(_ENTRY.search(body) for body in bodies)


def printed(data: bytes) -> str:
    """Returns all text in a PDF, in file order, without using xkg's parser. Words hyphenated at line ends are
    joined."""
    with pdfium.PdfDocument(data) as document:
        text = "\n".join(page.get_textpage().get_text_range() for page in document)
    return re.sub(r"(?:[-\xad\ufffe\x02])\s*\n?(?=[^\W\d_])|[\x02\ufffe]", "", text)


def compare(folder: Path) -> dict[str, Share]:
    """Returns the shares for one paper, keyed by name. Raises `NotConvertedError`, or `XkgError` for an unreadable
    source."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "paper"
        shutil.copytree(folder, copy)
        main = parse_paper(copy).spans[0].path
        data = typeset(copy, main)
        source = parse_paper(copy)  # parse the paper again, now with the printed .bbl
        cites = prints_references(copy, main, source)
    shares = measures(source, parse_pdf(data, Path("paper.pdf")), printed(data))
    return shares if cites else shares | {"references": Share(0, 0), "extra": Share(0, 0)}


def main(folders: Sequence[Path]) -> int:
    return compare_all(compare, folders)


if __name__ == "__main__":
    run_command(main)
