"""Parses papers and repositories in the confined process. Results must match those of direct parsing, and every crash
must give a single line."""

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.build.paper import papers, pdfs
from tests.build.parsing.hostile_parsers import HostileParsers
from xkg.build.code.repository import parse_repository
from xkg.build.grounding.working_copy import WorkingCopies
from xkg.build.paper.read import parse_paper
from xkg.build.parsing.parsers import MOST_DEADLY, Parsers, deadly
from xkg.build.repositories.checkout import read_folder
from xkg.errors import InputError, UnsafeInputError
from xkg.sandbox.isolation.confined_worker import Bounds

ROOT = Path(__file__).parents[3]
GOOD = "def good():\n    return 1\n"


@pytest.fixture(scope="module")
def hostile() -> Iterator[Parsers]:
    with HostileParsers() as started:
        yield started


def folder(place: Path, **files: str) -> Path:
    for name, text in files.items():
        path = place / name.replace("__", "/")
        path = path.with_name(path.name.replace("_", "."))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return place


def every_paper(place: Path) -> list[Path]:
    latex = papers.latex_paper(place / "latex")
    with tarfile.open(place / "2101.00001v1.tar.gz", "w:gz") as archive:
        archive.add(latex.parent, ".")
    (place / "latin.tex").write_bytes(
        "\\documentclass{a}\\begin{document}\\section{Größe}\\end{document}".encode("latin-1")
    )
    (place / "wide.md").write_bytes("# Größe\n\nText of it.\n".encode("utf-16"))
    text = "<h2>Метод</h2><h2>Опыт</h2>" + "<p>Слова, " * 40
    (place / "said.html").write_bytes(
        f'<html><head><meta charset="windows-1251"></head><body><h1>Заглавие</h1>{text}</body></html>'.encode("cp1251")
    )
    lines = ["A Study of Loaves", "1 Introduction", *["Loaves rise in a warm oven when they are left alone."] * 20]
    (place / "paper.pdf").write_bytes(pdfs.pdf([pdfs.column(lines, 72, 720)], title="A Study of Loaves"))
    return [latex, latex.parent, *sorted(file for file in place.iterdir() if file.is_file())]


def test_a_paper_is_what_it_is_without_the_process(tmp_path: Path, parsers: Parsers) -> None:
    found = every_paper(tmp_path)
    assert len(found) == 7
    for path in found:
        assert parsers.paper(path) == parse_paper(path), path


def test_a_repository_is_what_it_is_without_the_process(tmp_path: Path, parsers: Parsers) -> None:
    folder(tmp_path, good_py=GOOD, sub__other_cpp="namespace a { int f() { return 1; } }\n", requirements_txt="numpy\n")
    (tmp_path / "old.py").write_bytes("# coding: gb18030\nname = '方法'\n".encode("gb18030"))
    (tmp_path / "odd.py").write_bytes(b"# coding: unicode_escape\nname = '\\ud800'\n")
    for place in (tmp_path, ROOT / "examples" / "svgd" / "code", ROOT / "tests" / "data"):
        checkout = read_folder(place)
        expected = parse_repository(checkout)
        odd = [m for m in expected.modules if "\ud800" in m.text]
        found = parsers.repository(checkout)
        assert [m for m in found.modules if m.path not in {o.path for o in odd}] == [
            m for m in expected.modules if m not in odd
        ]
        assert [m.text for m in found.modules if m.path in {o.path for o in odd}] == [
            o.text.replace("\ud800", "\ufffd") for o in odd
        ]
        assert found.model_copy(update={"modules": ()}) == expected.model_copy(update={"modules": ()})


@pytest.mark.product("each hostile file")
@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("SPIN", "too-slow"),
        ("HOARD", "out-of-memory"),
        ("CRASH", "crashed"),
        ("LEAVE", "crashed"),
        ("BREAK", "crashed"),
    ],
)
def test_a_file_that_takes_the_parser_down_is_skipped_and_the_others_are_read(
    tmp_path: Path, hostile: Parsers, word: str, reason: str
) -> None:
    folder(tmp_path, a_py=GOOD, b_py=f"'{word}'\n", sub__c_py=GOOD)
    codebase = hostile.repository(read_folder(tmp_path))
    assert [m.path for m in codebase.modules] == ["a.py", "sub/c.py"]
    assert [(s.reason, s.examples) for s in codebase.skipped] == [(reason, ("b.py",))]
    assert deadly(codebase) == f"1 skipped as {reason}: b.py"


def test_a_repository_of_nothing_else_is_one_line_that_names_the_file(tmp_path: Path, hostile: Parsers) -> None:
    folder(tmp_path, b_py="'BREAK'\n")
    with pytest.raises(InputError, match=r"1 crashed \(b\.py\)") as error:
        WorkingCopies(hostile).read(tmp_path)
    assert "\n" not in str(error.value)


def test_a_repository_of_many_such_files_is_refused(tmp_path: Path, hostile: Parsers) -> None:
    folder(tmp_path, good_py=GOOD, **{f"b{n}_py": "'BREAK'\n" for n in range(MOST_DEADLY + 1)})
    with pytest.raises(UnsafeInputError, match=r"too many files crash the parser \(b0\.py"):
        hostile.repository(read_folder(tmp_path))


@pytest.mark.parametrize("lie", ["lie_module", "lie_part", "lie_answer"])
def test_an_answer_that_is_no_repository_is_refused(tmp_path: Path, hostile: Parsers, lie: str) -> None:
    folder(tmp_path, **{f"{lie}_py": GOOD})
    with pytest.raises(UnsafeInputError, match="cannot be parsed: the parser crashed") as error:
        hostile.repository(read_folder(tmp_path))
    assert "\n" not in str(error.value)


@pytest.mark.product("each hostile paper")
@pytest.mark.parametrize(
    ("name", "word", "said"),
    [
        ("slow.tex", "SPIN", "it takes too long to parse"),
        ("large.tex", "HOARD", "it takes too much memory to parse"),
        ("bad.tex", "CRASH", "the parser crashed"),
        ("lie.tex", "", "its answer is not a paper"),
    ],
)
def test_a_paper_that_takes_the_parser_down_is_one_line(
    tmp_path: Path, hostile: Parsers, monkeypatch: pytest.MonkeyPatch, name: str, word: str, said: str
) -> None:
    if word == "SPIN":
        monkeypatch.setattr(hostile, "_paper", Bounds(seconds=1))
    path = tmp_path / "folder" / name
    path.parent.mkdir()
    path.write_text(f"\\documentclass{{a}}{word}\\begin{{document}}\\section{{One}}\\end{{document}}")
    named = path if name == "lie.tex" else path.with_suffix(".unknown")
    path.rename(named)
    with pytest.raises(UnsafeInputError, match=said) as error:
        hostile.paper(named)
    assert str(named) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_paper_reads_nothing_outside_its_folder(tmp_path: Path, parsers: Parsers) -> None:
    (tmp_path / "secret.tex").write_text("\\section{Secret}")
    inside = tmp_path / "paper"
    inside.mkdir()
    (inside / "main.tex").write_text(
        "\\documentclass{a}\\begin{document}\\section{One}\\input{../secret}\\input{/etc/passwd}\\end{document}"
    )
    document = parsers.paper(inside / "main.tex")
    assert [section.title for section in document.sections] == ["One"]
    assert sum("is outside" in warning for warning in document.warnings) >= 2
    assert "Secret" not in document.model_dump_json()


def test_symbols_that_lie_in_one_another_without_end_are_nobodys(tmp_path: Path, parsers: Parsers) -> None:
    nested = "".join(f"struct A{n} {{" for n in range(3000)) + "};" * 3000
    folder(tmp_path, good_py=GOOD, nested_hpp=nested)
    codebase = parsers.repository(read_folder(tmp_path))
    assert [m.path for m in codebase.modules] == ["good.py"]
    assert [(s.reason, s.examples) for s in codebase.skipped] == [("generated", ("nested.hpp",))]


def test_a_file_may_be_asked_for_that_is_there_and_nothing_else(tmp_path: Path) -> None:
    """Requests from a compromised worker can reach only files in the paper's folder."""
    from xkg.build.paper.read import paper_on_disk
    from xkg.build.parsing.paper_exchange import serve_files

    folder(tmp_path, secret_txt="secret", paper__main_tex="text")
    (tmp_path / "paper" / "link.tex").symlink_to(tmp_path / "secret.txt")
    found = paper_on_disk(tmp_path / "paper")
    names = ["../secret.txt", "x/../../secret.txt", str(tmp_path / "secret.txt"), "link.tex", "", "main.tex"]
    assert list(serve_files(found, names)) == [None, None, None, None, None, b"+text"]
