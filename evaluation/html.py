r"""Compares a paper parsed from HTML with the same paper parsed from its LaTeX source: `python -m evaluation.html
FOLDER…`.

Each folder contains one paper's source. LaTeXML (Debian's `latexml`), which arXiv and ar5iv use, converts the source in
a temporary folder. LaTeXML reads the source's .bbl, so a paper without a .bbl has no references to compare. The
comparison covers the items listed in `evaluation.beside_latex`."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from evaluation.beside_latex import NotConvertedError, Share, compare_all, measures
from evaluation.inputs.command import run_command
from evaluation.pdf import prints_references
from xkg.build.paper.pdf_html.html import parse_html
from xkg.build.paper.read import parse_paper

_SECONDS = 400


def converted(folder: Path, main: str) -> bytes:
    """Returns the HTML generated from the paper whose main file is `main`. Raises `NotConvertedError`."""
    source = folder / main
    made = source.with_name("converted.html")
    command = ["latexmlc", "--preload=[nobibtex]latexml.sty", "--format=html5", "--pmml"]
    command += [
        "--nodefaultresources",
        "--nographicimages",
        f"--timeout={_SECONDS}",
        f"--dest={made.name}",
        source.name,
    ]
    try:
        subprocess.run(command, cwd=source.parent, timeout=_SECONDS + 20, capture_output=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise NotConvertedError("latexmlc is missing; install latexml") from error
    except subprocess.TimeoutExpired as error:
        raise NotConvertedError(f"latexmlc took longer than {_SECONDS} s") from error
    if not made.exists():
        raise NotConvertedError("LaTeXML produced no HTML")
    return made.read_bytes()


def compare(folder: Path) -> dict[str, Share]:
    """Returns the shares for one paper, keyed by name. Raises `NotConvertedError`, or `XkgError` for an unreadable
    source."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "paper"
        shutil.copytree(folder, copy)
        source = parse_paper(copy)
        main = source.spans[0].path
        read = parse_html(converted(copy, main), Path("paper.html"))
        cites = prints_references(copy, main, source)
    shares = measures(source, read)
    return shares if cites else shares | {"references": Share(0, 0), "extra": Share(0, 0)}


def main(folders: Sequence[Path]) -> int:
    return compare_all(compare, folders)


if __name__ == "__main__":
    run_command(main)
