import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build.paper import papers
from xkg.build.paper.document import Document, Section
from xkg.build.paper.files import LARGEST_TEXT
from xkg.build.paper.plain import plain
from xkg.build.paper.read import parse_paper
from xkg.errors import InputError, UnsafeInputError


def test_a_folder_gives_the_same_as_its_main_file(tmp_path: Path) -> None:
    main = papers.latex_paper(tmp_path / "arXiv-2101.00001v3" / "src")
    (main.parent / "figure.tex").write_text("\\documentclass{standalone}\\begin{document}x\\end{document}" + " " * 9999)
    (main.parent / "README.md").write_text("# Not the paper")
    found = parse_paper(tmp_path / "arXiv-2101.00001v3")
    assert found.sections == parse_paper(main).sections
    assert found.arxiv_id == "2101.00001"
    assert found.spans[0].path == "main.tex"


def test_other_papers_of_a_folder_are_named(tmp_path: Path) -> None:
    main = papers.latex_paper(tmp_path / "src")
    other = "\\documentclass{article}\\title{Other}\\begin{document}\\section{One}x\\end{document}"
    (main.parent / "slides.tex").write_text("\\documentclass{beamer}\\title{Talk}\\begin{document}x\\end{document}")
    assert parse_paper(main.parent).warnings == parse_paper(main).warnings
    (main.parent / "supplement.tex").write_text(other)
    line = "main.tex was read; supplement.tex is also a paper and can be passed instead"
    assert parse_paper(main.parent).warnings == (line, *parse_paper(main).warnings)
    for name in "abc":
        (main.parent / f"{name}.tex").write_text(other)
    line = "main.tex was read; c.tex, b.tex, a.tex and 1 more are also papers and can be passed instead"
    assert parse_paper(main.parent).warnings[0] == line


def test_inputs_beside_the_main_files_folder_are_read_where_the_folder_around_both_is_given(tmp_path: Path) -> None:
    body = "\\section{One}\\input{../tabs/one} A \\cite{a}.\\input{../../secret}\\bibliography{../refs}"
    (tmp_path / "secret.tex").write_text("SECRET")
    for name, content in {
        "paper/main.tex": f"\\documentclass{{article}}\\title{{T}}\\begin{{document}}{body}\\end{{document}}",
        "tabs/one.tex": "Told elsewhere.",
        "refs.bib": "@misc{a, title={Terns}, year={2020}}",
    }.items():
        (tmp_path / "whole" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "whole" / name).write_text(content)
    found = parse_paper(tmp_path / "whole")
    assert "Told elsewhere." in found.text
    assert "SECRET" not in found.text
    assert [r.title for r in found.references] == ["Terns"]
    alone = parse_paper(tmp_path / "whole" / "paper")
    assert "Told elsewhere." not in alone.text
    assert any("outside" in line for line in alone.warnings)


def test_a_folder_with_markdown_only(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Read me")
    (tmp_path / "text.md").write_text("# The paper")
    assert parse_paper(tmp_path).title == "The paper"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tex", b"", "empty"),
        ("a.md", b" \n ", "empty"),
        ("a.pdf", b"%PDF-1.5", "PDF"),
        ("a.tex", b"x" * (LARGEST_TEXT + 1), "8 MB"),
        ("a.md", b"x" * 50_000_000, "50 MB"),
    ],
)
def test_what_is_no_paper_is_told_in_one_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        parse_paper(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        parse_paper(tmp_path / "gone.tex")
    with pytest.raises(InputError, match="contains no paper"):
        parse_paper(tmp_path)
    os.mkfifo(tmp_path / "pipe.tex")
    with pytest.raises(InputError, match="not a regular file"):
        parse_paper(tmp_path / "pipe.tex")
    (tmp_path / "real.tex").write_text("x")
    (tmp_path / "link.tex").symlink_to(tmp_path / "real.tex")
    with pytest.raises(UnsafeInputError, match="symbolic link"):
        parse_paper(tmp_path / "link.tex")


def test_bytes_of_other_encodings(tmp_path: Path) -> None:
    (tmp_path / "a.tex").write_bytes("\\section{Étude}\r\nText\0 here\rand there".encode("latin-1"))
    document = parse_paper(tmp_path / "a.tex")
    assert document.sections[0].title == "Étude"
    assert document.text == "\\section{Étude}\nText  here\nand there"
    assert len([line for line in document.warnings if "Latin-1" in line or "NUL" in line]) == 2
    declared = "\\usepackage[latin1]{inputenc}\\begin{document}\\section{Große Straße}a\\end{document}"
    (tmp_path / "c.tex").write_bytes(declared.encode("latin-1"))
    assert parse_paper(tmp_path / "c.tex").sections[0].title == "Große Straße"
    (tmp_path / "b.md").write_bytes("# Étude\n\ntext".encode("utf-16"))
    assert parse_paper(tmp_path / "b.md").title == "Étude"


def test_a_text_that_ends_within_a_character_keeps_its_encoding(tmp_path: Path) -> None:
    path = tmp_path / "paper.md"
    path.write_bytes("# Rivière\n\n## 引言\n\n我们提出".encode()[:-1])
    document = parse_paper(path)
    assert (document.title, document.text[-3:]) == ("Rivière", "我们提")
    assert any("ends in the middle of a character" in line for line in document.warnings)


def test_the_hash_covers_every_file_that_was_read(tmp_path: Path) -> None:
    main = papers.latex_paper(tmp_path / "paper")
    before = parse_paper(main).source_sha256
    (main.parent / "unrelated.txt").write_text("x")
    assert parse_paper(main).source_sha256 == before
    (main.parent / "refs.bib").write_text(papers.BIB + "\n")
    assert parse_paper(main).source_sha256 != before


@pytest.mark.product("each text × each format", "text")
@pytest.mark.parametrize(
    "text",
    [
        "{" * 200_000,
        "}" * 50_000,
        "\\section{" * 20_000,
        "\\section{a}\n" * 3_000,
        "$" * 200_000,
        "\\begin{equation}" * 10_000,
        "\\emph{" * 30_000 + "}" * 30_000,
        "\\def\\a{\\a\\a}" + "\\a" * 5_000,
        "".join(f"\\newcommand{{\\m{chr(97 + i)}}}{{\\m{chr(98 + i)}\\m{chr(98 + i)}}}" for i in range(24)) + "\\ma",
        "\\[" * 50_000,
        "\\(" * 50_000,
        "```\n" * 20_000,
        "*" * 100_000,
        "[a](" * 30_000,
        "\\newcommand" + " " * 100_000,
        "\\bibitem[" * 10_000,
        "\\footnotetext{\n" * 8_000,
        "# References\n\n" + "Lind, A. and Berg, B. " * 8_000,
        "| a |\n" * 20_000,
        "\\iffalse " * 20_000,
        "\\newif\\ifa \\atrue" + "\\ifa " * 20_000 + "\\fi " * 20_000,
    ],
    ids=lambda text: repr(text[:14]),
)
@pytest.mark.parametrize("suffix", [".tex", ".md"])
def test_hostile_papers_end(tmp_path: Path, text: str, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_text("\\title{x}\n" + text)
    document = parse_paper(path)
    assert document.text == "\\title{x}\n" + text or suffix == ".tex"
    plain(document, 0, len(document.text))


_PIECES = st.sampled_from((
    "\\section{A}", "\\section*{B.1. C}", "\\subsection{", "\\paragraph{P.}", "# H", "## 2. H", "#### x",
    "Title\\n===", "---", "**Bold.** text", "{\\bf x}", "\\emph{y}", "*z*", "`c`", "```", "$", "$$", "\\[", "\\]",
    "\\begin{equation}", "\\end{equation}", "\\begin{abstract}", "\\end{abstract}", "\\begin{algorithm}",
    "\\end{algorithm}", "\\caption{k}", "Algorithm 1 Loop", "1: step", "Input: x", "end for", "\\title{T}",
    "\\author{Ada Lind}", "\\begin{figure}", "\\end{figure}", "\\footnotetext{", "}", "{", "% c", "\\verb|x|",
    "\\begin{verbatim}", "\\end{verbatim}", "\\newcommand{\\q}[1]{#1}", "\\def\\w{v}", "\\q{a}", "\\w", "\\q",
    "\\cite{a}", "(Lind et al., 2019)", "References", "## References", "\\section*{References}", "Lind, A. T. 2019.",
    "\\bibitem{a} X. \\newblock Y.", "\\begin{thebibliography}{1}", "\\end{thebibliography}", "Proof.",
    "Some Title. And a sentence that goes on for long.", "word", "wo-", "rd", "é", "\u2028", "\\", "| ![](a.png)",
    "Figure 1. Cap", "a", "b", "\\appendix", "\\end{document}", "\\begin{document}", "<!--", "-->", "~", "&", "\\\\",
))  # fmt: skip
_TEXTS = st.lists(st.tuples(_PIECES, st.sampled_from([" ", "\n", "\n\n", ""])), max_size=40).map(
    lambda parts: "x" + "".join(a + b for a, b in parts)
)


def check_sections(sections: tuple[Section, ...], start: int, end: int, level: int) -> None:
    at = start
    for section in sections:
        assert at <= section.start < section.body_start <= section.end <= end
        assert section.level > level
        assert section.title
        check_sections(section.children, section.body_start, section.end, section.level)
        at = section.end


def check(document: Document) -> None:
    size = len(document.text)
    check_sections(document.sections, 0, size, 0)
    spans = [(e.start, e.end) for e in document.equations]
    spans += [(a.start, a.end) for a in document.algorithms]
    spans += [(e.start, e.end) for e in document.emphases]
    assert all(0 <= start < end <= size for start, end in spans)
    if document.abstract_span:
        assert 0 <= document.abstract_span[0] <= document.abstract_span[1] <= size
    last = 0
    for span in document.spans:
        assert last <= span.start < span.end <= size
        last = span.end


@given(_TEXTS, st.sampled_from([".tex", ".md"]), st.data())
def test_any_paper(tmp_path_factory: pytest.TempPathFactory, text: str, suffix: str, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_text(text, encoding="utf-8")
    document = parse_paper(path)
    check(document)
    size = len(document.text)
    start = data.draw(st.integers(0, size))
    end = data.draw(st.integers(start, size))
    assert "\n\n\n" not in plain(document, start, end)
    assert plain(document, start, end) == plain(document, start, end).strip()


@given(st.binary(max_size=300), st.sampled_from([".tex", ".md", ".gz", ""]))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes, suffix: str) -> None:
    path = tmp_path_factory.getbasetemp() / f"bytes{suffix}"
    path.write_bytes(data)
    with contextlib.suppress(InputError):
        check(parse_paper(path))


def test_japanese_in_euc_jp_is_not_read_as_chinese(tmp_path: Path) -> None:
    text = "# 波紋による標本抽出\n\n## 概要\n\nゲートを用いた標本抽出を研究する。提案手法は簡単な損失で学習される。\n"
    (tmp_path / "a.md").write_bytes(text.encode("euc_jp"))
    assert parse_paper(tmp_path / "a.md").title == "波紋による標本抽出"


@pytest.mark.parametrize(
    ("name", "text", "missing"),
    [
        (
            "a.tex",
            r"\documentclass{own}\begin{document}\begin{resumo}We.\end{resumo}\section{Gate}%s\end{document}",
            "abstract",
        ),
        ("a.md", "**Gates**\n\nWe.\n\n**Ring gate**\n\n%s\n", "abstract and no section headings"),
    ],
)
def test_a_paper_without_abstract_or_headings_says_so(tmp_path: Path, name: str, text: str, missing: str) -> None:
    (tmp_path / name).write_text(text % ("The gate compares neighbours. " * 200))
    said = f"no {missing} found because the markup was not recognised"
    assert any(said in warning for warning in parse_paper(tmp_path / name).warnings)


def test_a_folder_with_a_pointer_alone_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "paper.pdf").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    with pytest.raises(InputError, match="is a Git LFS pointer"):
        parse_paper(tmp_path)
