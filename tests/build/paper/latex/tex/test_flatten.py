import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.paper.files import LARGEST_TEXT, FolderReader, MemoryReader, PaperFiles
from xkg.build.paper.latex.tex.flatten import Flat, flatten
from xkg.errors import InputError, UnsafeInputError


def flat(files: dict[str, str], main: str = "main.tex") -> Flat:
    return flatten(PaperFiles(MemoryReader({name: text.encode() for name, text in files.items()})), main)


def test_a_file_that_is_only_looked_for_is_not_read() -> None:
    main = rb"\begin{document}\IfFileExists{logo.pdf}{kept}{gone}\end{document}"
    read = flatten(PaperFiles(MemoryReader({"main.tex": main, "logo.pdf": b"%PDF\xff\xfe"})), "main.tex")
    assert (read.text, read.warnings) == (r"\begin{document}kept\end{document}", ())


@pytest.mark.parametrize(
    "command",
    [
        r"\input{a}",
        r"\input a ",
        r"\include{a}",
        r"\subfile{a}",
        r"\import{./}{a}",
        r"\input{ a }",
        r"\input{./b/../a}",
    ],
)
def test_inputs_are_put_in_place(command: str) -> None:
    assert flat({"main.tex": f"x {command}y", "a.tex": "INSIDE"}).text.replace(" ", "") == "xINSIDEy"


def test_a_macro_that_reads_a_file_is_followed_by_it() -> None:
    macros = r"\newcommand{\part}[1]{\input{s/#1}}\newcommand{\rest}{\input{b}}\includeonly{c} "
    files = {
        "main.tex": macros + r"\part{a} \rest{} \include{b} \include{c}",
        "s/a.tex": "A",
        "b.tex": "B",
        "c.tex": "C",
    }
    read = flat(files).text.removeprefix(macros)
    assert read.replace(" ", "") == r"\part{a}A\restB{}C"


def test_a_choice_of_files_that_may_not_apply_leaves_out_no_file() -> None:
    main = r"\ifshort\includeonly{a}\fi\begin{document}\include{a}\include{b}\end{document}"
    assert "AB" in flat({"main.tex": main, "a.tex": "A", "b.tex": "B"}).text.replace(" ", "")


def test_a_folder_of_the_name_of_an_input_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "method").mkdir()
    (tmp_path / "main.tex").write_text(r"\input{method} kept")
    read = flatten(PaperFiles(FolderReader(tmp_path)), "main.tex")
    assert (read.text, read.warnings) == (" kept", ("main.tex: the input method was not found",))


def test_inputs_are_read_relative_to_the_main_file_and_else_to_the_current_one() -> None:
    files = {"main.tex": r"\input{s/one}", "s/one.tex": r"\input{two} \input{s/two}", "s/two.tex": "2"}
    assert flat(files).text == "2 2"


def test_only_the_body_of_a_subfile_is_taken() -> None:
    sub = "\\documentclass[main]{subfiles}\n\\begin{document}BODY\\end{document} after"
    assert flat({"main.tex": r"\subfile{a}", "a.tex": sub}).text == "BODY"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a % b\nc", "a \nc"),
        ("a 5\\% b\nc", "a 5\\% b\nc"),
        ("line\\\\% gone\nnext", "line\\\\next"),
        ("wo%\n  rd", "word"),
        ("end%\n\nnew", "end\n\nnew"),
        ("a\n% alone\n  % and alone\nb", "a\nb"),
        ("% first\nb", "b"),
        ("\\url{a%20b} x", "\\url{a%20b} x"),
        ("\\verb|%| x", "\\verb|%| x"),
        ("\\begin{verbatim}% kept\n\\input{a}\\end{verbatim}", "\\begin{verbatim}% kept\n\\input{a}\\end{verbatim}"),
        ("a\\begin{comment}x\\end{comment}b", "ab"),
        ("a\\iffalse x \\ifx y \\fi z \\fi b", "a b"),
        ("a\\iffalse x \\else y\\fi", "a y"),
        ("a \\endinput b", "a "),
    ],
)
def test_what_tex_does_not_read_is_gone(source: str, expected: str) -> None:
    assert flat({"main.tex": source}).text == expected


def test_a_cycle_is_reported_and_left_out() -> None:
    found = flat({"main.tex": r"m \input{a}", "a.tex": r"a \input{main}"})
    assert found.text == "m a "
    assert "cycle" in found.warnings[0]


def test_inputs_that_multiply_without_end_are_refused() -> None:
    files = {f"f{i}.tex": f"\\input{{f{i + 1}}}" * 40 + "x" for i in range(5)}
    found = flat({"main.tex": r"\input{f0}", **files, "f5.tex": "x"})
    assert any("too many" in line for line in found.warnings)
    with pytest.raises(UnsafeInputError, match="its inputs exceed"):
        flat({"main.tex": r"\input{a}" * 9, "a.tex": "x" * (LARGEST_TEXT // 8)})


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a/../../secret", "s/link", "s/linked/secret", "pipe"])
def test_nothing_outside_the_folder_is_read(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.tex").write_text("SECRET")
    paper = tmp_path / "paper"
    (paper / "s").mkdir(parents=True)
    (paper / "s" / "link.tex").symlink_to(tmp_path / "secret.tex")
    (paper / "s" / "linked").symlink_to(tmp_path)
    os.mkfifo(paper / "pipe.tex")
    (paper / "main.tex").write_text(f"x \\input{{{path}}} \\import{{../}}{{secret}}")
    files = PaperFiles(FolderReader(paper))
    found = flatten(files, "main.tex")
    assert "SECRET" not in found.text
    assert "root:" not in found.text
    assert found.warnings


def test_an_empty_or_missing_main_file_is_refused() -> None:
    with pytest.raises(InputError, match="empty"):
        flat({"main.tex": " \n"})
    with pytest.raises(InputError, match="missing"):
        flat({"a.tex": "x"})


_LINES = st.lists(
    st.sampled_from(
        [
            "text",
            "",
            "% c",
            "\\input{b}",
            "\\input{c}x",
            "  ",
            "\\verb|%|",
            "\\iffalse",
            "\\fi",
            "\\begin{verbatim}",
            "é\u2028x",
            "5\\%",
        ]
    ),
    max_size=12,
)


@given(_LINES, _LINES, _LINES)
def test_every_character_leads_back_to_its_line(a: list[str], b: list[str], c: list[str]) -> None:
    sources = {"a.tex": "\n".join(["x", *a]), "b.tex": "\n".join(b), "c.tex": "\n".join(c)}
    found = flat(sources, "a.tex")
    last = 0
    for span in found.spans:
        assert last <= span.start < span.end <= len(found.text)
        last = span.end
        for offset in range(span.start, span.end):
            line = span.line + found.text.count("\n", span.start, offset)
            char = found.text[offset]
            assert char == "\n" or char in sources[span.path].split("\n")[line - 1]
        piece = found.text[span.start : span.end]
        assert piece in sources[span.path]
    assert last == len(found.text)


def test_a_pointer_in_place_of_an_input_is_said() -> None:
    found = PaperFiles(
        MemoryReader({"main.tex": b"\\input{a} kept", "a.tex": b"version https://git-lfs.github.com/spec/v1"})
    )
    assert flatten(found, "main.tex").text == " kept"
    assert "Git LFS pointer" in found.warnings[0]
