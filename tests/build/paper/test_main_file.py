import io
import json
import tarfile
from pathlib import Path

import pytest

from xkg.build.paper.read import parse_paper

BIBLIOGRAPHY = "\\begin{thebibliography}{1}\\bibitem{a} A. Lind. \\newblock Rings.\\end{thebibliography}"


def paper(title: str, sentences: int = 1, more: str = "") -> str:
    body = (
        f"\\maketitle\\begin{{abstract}}A.\\end{{abstract}}\\section{{One}}{'Some words go here. ' * sentences}{more}"
    )
    return f"\\documentclass{{article}}\\title{{{title}}}\\begin{{document}}{body}\\end{{document}}"


def stated(*usage: tuple[str, str]) -> str:
    return json.dumps({"sources": [{"filename": name, "usage": use} for name, use in usage]})


RIGHT, OTHER = paper("Right"), paper("Other", 99)


@pytest.mark.parametrize(
    "files",
    [
        {"rings.tex": RIGHT, "sample-sigconf.tex": OTHER},
        {"rings.tex": RIGHT, "ieeetran_HOWTO.tex": OTHER},
        {"rings.tex": RIGHT, "zz_cover_letter.tex": OTHER},
        {"rings.tex": RIGHT, "rings_supp.tex": OTHER},
        {"rings.tex": RIGHT, "zz.tex": paper("Formatting Instructions For NeurIPS 2023", 99)},
        {"rings.tex": RIGHT, "zz.tex": paper("Supplementary Material for Rings", 99)},
        {"ring.tex": RIGHT, "main.tex": paper("Formatting Instructions for ICLR", 99)},
        {"b.tex": paper("Right", 1, "\\cite{a}"), "b.bbl": BIBLIOGRAPHY, "z.tex": OTHER},
        {"b.tex": paper("Right", 1, "\\input{s/one}"), "s/one.tex": "x y z " * 900, "z.tex": OTHER},
        {"neurips.tex": RIGHT, "zz.tex": "\\documentclass{standalone}\\begin{document}x\\end{document}" + " " * 9999},
        {"00README.json": stated(("zz.tex", "toplevel"), ("main.tex", "ignore")), "main.tex": OTHER, "zz.tex": RIGHT},
        {"00README.json": stated(("./src/zz.tex", "toplevel")), "main.tex": OTHER, "src/zz.tex": RIGHT},
        {"00README.json": stated(("main.tex", "ignore")), "main.tex": OTHER, "zz.tex": RIGHT},
        {"00README.json": '{"sources": [{"filename": "x.sty"}, {"filename": "zz.tex", "usage": "toplevel"}]}',
         "main.tex": OTHER, "zz.tex": RIGHT},
        {"00README.json": "{", "main.tex": RIGHT, "zz.tex": OTHER},
        {"00README.XXX": "zz.tex toplevelfile\nmain.tex ignore\n", "main.tex": OTHER, "zz.tex": RIGHT},
        {"00README.yaml": "sources:\n- {filename: zz.tex, usage: toplevel}\n", "main.tex": OTHER, "zz.tex": RIGHT},
    ],
)  # fmt: skip
def test_the_main_file_is_the_stated_one_or_the_paper_itself(tmp_path: Path, files: dict[str, str]) -> None:
    packed = tmp_path / "paper.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        for name, content in files.items():
            path = tmp_path / "folder" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content.encode()))
    assert parse_paper(tmp_path / "folder").title == "Right"
    assert parse_paper(packed).title == "Right"
