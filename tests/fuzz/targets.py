"""Lists the parsers to fuzz, by name, with seeds. These are all the parsers in `tests/growth`, plus the parsers that
read bytes."""

import contextlib
import gzip
import io
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.build.paper.pdfs import column, pdf
from tests.growth.parsers import PARSERS
from xkg.build.paper.read import parse_paper
from xkg.errors import InputError

Parse = Callable[[bytes], None]


def _of_text(action: Callable[[str], None]) -> Parse:
    def parse(data: bytes) -> None:
        action(data.decode("utf-8", "replace"))

    return parse


def _paper(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "paper"
        path.write_bytes(data)
        with contextlib.suppress(InputError):
            parse_paper(path)


def _archives() -> list[bytes]:
    text = b"\\documentclass{article}\\begin{document}\\section{A}a\\end{document}"
    tarred, zipped = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tarred, mode="w") as archive:
        member = tarfile.TarInfo("main.tex")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("main.tex", text)
    return [tarred.getvalue(), zipped.getvalue(), gzip.compress(text), gzip.compress(tarred.getvalue())]


def _pdfs() -> list[bytes]:
    lines = [
        "# 1 Introduction",
        "We propose a method that does.",
        "",
        "\tIt is good.",
        "# References",
        "[1] A. B. C. 2020.",
    ]
    return [pdf([column(lines, 50, 50)], title="A"), pdf([column(lines, 50, 50), column(lines, 320, 50)])]


TARGETS: dict[str, tuple[Parse, Sequence[bytes]]] = {
    **{name: (_of_text(action), ()) for name, action in PARSERS.items()},
    "archive": (_paper, _archives()),
    "pdf": (_paper, _pdfs()),
}
