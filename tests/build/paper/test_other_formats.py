from pathlib import Path

import pytest

from xkg.build.paper.other_formats import not_a_paper
from xkg.build.paper.read import parse_paper
from xkg.errors import InputError


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.ipynb", '{\n "cells": [], "nbformat": 4}', "a Jupyter notebook"),
        ("a.rtf", r"{\rtf1 hello}", "RTF"),
        ("a.pdf", "version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "git lfs pull"),
        ("a.xml", '<?xml version="1.0"?>\n<!-- x -->\n<TEI xmlns="http://www.tei-c.org/ns/1.0"/>', "TEI"),
        ("a.xml", '<?xml version="1.0"?><!DOCTYPE article PUBLIC "-//NLM//DTD JATS"><article/>', "JATS"),
        ("a.html", "<html><head><title>404 Not Found</title></head><body>nginx</body></html>", "404 Not Found"),
        ("a.html", "<html><head><title>Just a moment...</title></head><body>Wait.</body></html>", "an error page"),
        (
            "a.html",
            "<h1>arxiv.org</h1><h2>Wait</h2><p>Enable JavaScript and cookies to continue</p>",
            "a web page without",
        ),
        ("a.html", "<html><h1>Access through your institution</h1><p>Buy it.</p></html>", "a web page without a paper"),
        ("a.xml", '<article article-type="research-article"><front/></article>', "is JATS"),
        ("a.xml", '<?xml version="1.0"?><feed><title>arXiv query</title></feed>', "XML"),
        ("a.md", "# Deep Gates\n\nThis paper has been withdrawn by the author.\n", "was withdrawn"),
        ("a.tex", "%auto-ignore\nThis paper has been withdrawn by the author: Lemma 2 is wrong.\n", "was withdrawn"),
        ("a.tex", "% refs\n@article{a, title={B}}\n", "a bibliography"),
        ("a.ps", "%!PS-Adobe\n", "ps2pdf"),
        ("a.org", "#+TITLE: x\n* A\n", "an Org file"),
        ("a.typ", "= Title\n", "a Typst file"),
        ("a.docx", "PK", "a Word document"),
        ("a.bin", "\x7fELF\0\0\0\0", "not text; pass the paper as LaTeX"),
        ("a.pdf", "II*\0\x08\0\0\0", "an image"),
        ("a.pdf", "PK\x03\x04" + 26 * "\0" + "mimetypeapplication/epub+zip", "an EPUB or OpenDocument file"),
        ("a.pdf", "PK\x03\x04" + 26 * "\0" + "[Content_Types].xml", "a Microsoft Office document"),
        ("a.json", '{"title": "x", "body_text": []}', "JSON"),
        ("a.md", "404: Not Found", "an error page"),
        ("a.html", "<html><body><h1>Title:Rings</h1><blockquote>We.</blockquote></body></html>", "pass the arXiv id"),
        (
            "a.tex",
            r"\documentclass{article}\title{Formatting Instructions For NeurIPS}\begin{document}\section{Style}"
            r"Authors must use the style files.\end{document}",
            "the sample paper from a template",
        ),
    ],
)
def test_what_is_not_a_paper_is_refused_by_name(tmp_path: Path, name: str, content: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=said):
        parse_paper(path)


def test_words_of_notices_in_a_paper_are_no_notice(tmp_path: Path) -> None:
    path = tmp_path / "a.tex"
    text = "We count how often a paper has been withdrawn. " * 100
    path.write_text(
        rf"\documentclass{{article}}\title{{Not Found}}\begin{{document}}\section{{A}} {text}\end{{document}}"
    )
    assert parse_paper(path).title == "Not Found"


@pytest.mark.parametrize("head", [b"%" * 5000 + b"\n\\documentclass", b"<!-- a -->\n" * 400 + b"<html>"])
def test_rulers_and_comments_above_a_paper_take_no_time(head: bytes) -> None:
    assert not_a_paper("root.tex", head) is None
