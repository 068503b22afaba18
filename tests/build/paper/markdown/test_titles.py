"""Tests titles, authors and abstracts in the forms that converters of PDF and LaTeX write."""

from pathlib import Path

import pytest

from tests.build.paper.markdown.test_document import outline, paper
from xkg.build.paper.plain import plain

TITLE, AUTHORS = "Gated Ripple Sampling", ("Ann Lee", "Bo Ray")


def front(title: str, authors: str, abstract: str, introduction: str) -> str:
    return f"{title}\n\n{authors}\n\n{abstract}\n\nWe propose it.\n\n{introduction}\n\nRivers ripple.\n"


BODY = "\n# 1 Introduction\n\nRivers ripple.\n"
DOCLING = front("## Gated Ripple Sampling", "Ann Lee 1 , Bo Ray 2", "## Abstract", "## 1. Introduction")
PYMUPDF4LLM = front(
    "## **Gated Ripple Sampling**", "**Ann Lee** [1] **Bo Ray** [2]", "## **Abstract**", "**1** **Introduction**"
)
BOLD = PYMUPDF4LLM.replace("## ", "")
MARKER = front(
    '# <span id="page-0-0"></span>**Gated Ripple Sampling**',
    "**Ann Lee**<sup>1</sup> **Bo Ray**<sup>2</sup>",
    "# Abstract",
    '# <span id="page-0-1"></span>**1 Introduction**',
)
VENUE = "Published as a conference paper at ICLR 2024\n\n" + DOCLING
PANDOC = """\
---
title: "Gated Ripple Sampling"
author:
- Ann Lee
- Bo Ray
abstract: |
  We propose it.
bibliography: refs.bib
---

Introduction {#sec:intro}
============

Rivers ripple.
"""
PANDOC_PEOPLE = """\
---
title: Gated Ripple Sampling
author:
  - name: Ann Lee
    affiliation: Uni
  - name: Bo Ray
abstract: We propose it.
...
"""
PERCENT = """\
% Gated Ripple
  Sampling
% Lee, Ann; Ray, Bo
% May 2021

**Abstract.** We propose it.
"""
NOT_YAML = """\
---
title: 'Gated Ripple Sampling'
author: Ann Lee y Bo Ray
abstract: We propose it.
url: a: b
---
"""
PLAIN = front(TITLE, "Ann Lee^1, Bo Ray^2\n\n^1University of Nowhere", "Abstract", "1 Introduction").replace(
    "ripple.", "ripple. They do so for long.\n"
)
TOML = """\
+++
title = "Gated Ripple Sampling"
authors = ["Ann Lee^[equal share]", {name = {given = "Bo", family = "Ray"}}]
abstract = "We propose it."
+++
"""
RUNNING = "# Published as a conference paper at ICLR 2024\n\n" + front(
    "# Gated Ripple Sampling",
    "Ann Lee ${ }^{1}$, Bo Ray ${ }^{2}$<br>${ }^{1}$ Some Institute",
    "# Abstract",
    "# 1 Introduction",
)
HTML = front(
    '<h1 align="center">\n  Gated Ripple<br>Sampling<sup>∗</sup>\n</h1>',
    "Ann Lee, Bo Ray",
    "<h2>Abstract</h2>",
    "<h2>1 Introduction</h2>",
)

REST = "\n\n## Abstract\n\nWe propose it.\n\n## 1 Introduction\n\nRivers ripple.\n"
CENTRED = f'<p align="center"><b>{TITLE}</b></p>\n\n<p align="center">Ann Lee, Bo Ray</p>{REST}'
STATED = f"Title: {TITLE}\nAuthors: Ann Lee, Bo Ray{REST}"
STATED_IN_BOLD = f"**Title:** {TITLE}\n\n**Authors:** Ann Lee, Bo Ray{REST}"
ANCHORED = MARKER.replace('# <span id="page-0-0"></span>', '<span id="page-0-0"></span># ')
NAMED_BY_KEYS = f"---\ntitle: {TITLE}\nauthor:\n- Ann Lee: {{institute: x}}\n- Bo Ray\n---{REST}"


@pytest.mark.parametrize(
    "text",
    [
        *(ANCHORED, CENTRED, STATED, STATED_IN_BOLD, NAMED_BY_KEYS),
        *(head + BODY for head in (PANDOC_PEOPLE, PERCENT, NOT_YAML, TOML)),
        *(DOCLING, PYMUPDF4LLM, BOLD, MARKER, VENUE, PANDOC, PLAIN, RUNNING, HTML),
    ],
)
def test_the_front_of_converted_papers(tmp_path: Path, text: str) -> None:
    document = paper(tmp_path, text)
    assert (document.title, document.authors, document.abstract) == (TITLE, AUTHORS, "We propose it.")
    assert [(level, title) for level, _, title in outline(document)] == [(1, "Introduction")]


@pytest.mark.parametrize(
    "authors",
    [
        "Ann Lee1,2*, Bo Ray1\n\n1 University of Nowhere, 2 New York",
        "**Ann Lee** [1] _[∗]_ **Bo Ray** [1] _[,]_ [2]\n\n1Some Institute",
        "Ann Lee $^{1,2}$ , Bo Ray $^{1\\dagger}$\n\n$^1$ Some Institute",
        "## Ann Lee, Bo Ray\n\nSome Institute",
        "_Ann Lee_[1] and _Bo Ray_[2]",
        "**Authors:** Ann Lee (MIT), Bo Ray\n\n**Date:** 2024",
        "[Ann Lee](https://a.org)<sup>*</sup> · [Bo Ray](mailto:b@b.org)",
        "Ann Lee\n\nSome Institute\n\na@b.org &Bo Ray\n\nOther Institute\n\nb@b.org",
        "by Ann Lee and Bo Ray",
        "- Ann Lee (MIT)\n- Bo Ray, New York",
        "## Authors\n\n* Ann Lee\n* Bo Ray",
        "**Ann Lee** Some Institute a@b.org\n\n**Bo Ray** MIT b@b.org",
        "<table><tr><td>Ann Lee<br>Some Institute</td><td>Bo Ray<br>MIT</td></tr></table>",
        "Ann Lee\nSome Institute\na@b.org\nBo Ray\nOther Institute",
    ],
)
def test_authors_as_converters_write_them(tmp_path: Path, authors: str) -> None:
    text = f"# {TITLE}\n\n{authors}\n\n## Abstract\n\nWe propose it.\n\n## 1 Introduction\n\nRivers ripple.\n"
    assert paper(tmp_path, text).authors == AUTHORS


def test_a_subsection_may_have_the_name_of_the_paper(tmp_path: Path) -> None:
    heads = ("## 1 Method", f"### {TITLE}", "## 2 Results", f"## {TITLE}", "## 3 Limits")
    text = "".join(f"{head}\n\nRivers.\n\n" for head in (f"# {TITLE}", *heads[:3]))
    assert [title for _, _, title in outline(paper(tmp_path, text))] == ["Method", TITLE, "Results"]
    text += "".join(f"{head}\n\nRivers.\n\n" for head in heads[3:])
    assert [title for _, _, title in outline(paper(tmp_path, text))] == ["Method", "Results", "Limits"]


def test_letters_below_roman_numbers_are_subsections(tmp_path: Path) -> None:
    heads = ("I. Introduction", "III. Method", "*A. Gate*", "*B. Refresh*")
    text = f"# {TITLE}\n\n" + "".join(f"## {head}\n\nRivers.\n\n" for head in heads)
    read = outline(paper(tmp_path, text))
    assert [(level, title) for level, _, title in read[1:]] == [(1, "Method"), (2, "Gate"), (2, "Refresh")]


@pytest.mark.parametrize(
    "text",
    ["## 1 Introduction\n\nRivers.\n\n## 2 Method\n\nWe.", "# Introduction\n\nRivers.", "I. Introduction\n\nRivers."],
)
def test_a_paper_without_a_title_has_none(tmp_path: Path, text: str) -> None:
    assert paper(tmp_path, text).title == ""


BOLD_ONLY = """\
**Gated Ripple Sampling**
**Ann Lee, Bo Ray**
**Abstract**
We propose it.
**Introduction**
Rivers ripple.
**The Ripple Gate**
A gate opens once.
**Theorem 1.**
It ends. **A Bold Phrase** in a sentence.
**This holds for each of the rivers that we know.**
**Our schedule**
It waits.
**Results**
It works.
""".replace("\n", "\n\n")


@pytest.mark.parametrize("title", [f"**{TITLE}**", f"# {TITLE}", "**Gated Ripple**\n**Sampling**", TITLE])
def test_titles_in_bold_on_their_own_lines_are_headings_if_nothing_else_is(tmp_path: Path, title: str) -> None:
    document = paper(tmp_path, BOLD_ONLY.replace("**Gated Ripple Sampling**", title))
    assert (document.title, document.authors, document.abstract) == (TITLE, ("Ann Lee", "Bo Ray"), "We propose it.")
    assert [title for _, _, title in outline(document)] == [
        "Introduction",
        "The Ripple Gate",
        "Our schedule",
        "Results",
    ]


def test_the_id_that_arxiv_puts_before_a_title_is_no_part_of_it(tmp_path: Path) -> None:
    assert paper(tmp_path, f"# [2403.01234] {TITLE}\n\n## Abstract\n\nWe gate.\n").title == TITLE


@pytest.mark.parametrize("abstract", ["***Abstract***—We gate.", "## Summary\n\nWe gate."])
def test_an_abstract_in_bold_italics_or_by_another_name(tmp_path: Path, abstract: str) -> None:
    assert paper(tmp_path, f"# {TITLE}\n\n{abstract}\n\n## Introduction\n\nRivers.\n").abstract == "We gate."


@pytest.mark.parametrize("heading", ["## Introduction", "**1 Introduction**"])
def test_a_line_in_bold_is_no_heading_below_other_headings(tmp_path: Path, heading: str) -> None:
    document = paper(tmp_path, f"# T\n\n{heading}\n\nRivers ripple.\n\n**The Ripple Gate**\n\nA gate opens.\n")
    assert [title for _, _, title in outline(document)] == [heading.strip("#* 1")]


def test_a_section_in_bold_is_no_author(tmp_path: Path) -> None:
    text = "# T\n\nAnn Lee, Bo Ray\n\n**Introduction**\n\nRivers ripple.\n\n**Step One**\n\nA gate opens.\n"
    assert paper(tmp_path, text).authors == AUTHORS


def test_authors_as_a_heading_are_no_section(tmp_path: Path) -> None:
    front = f"# {TITLE}\n\n# Ann Lee<sup>1</sup>, Bo Ray<sup>2</sup>\n\n# Abstract\n\nWe propose it."
    text = f"{front}\n\n# 1 Introduction\n\nIt.\n"
    document = paper(tmp_path, text)
    assert (document.title, document.authors, outline(document)) == (TITLE, AUTHORS, [(1, "1", "Introduction")])


def test_headings_in_bold_italics(tmp_path: Path) -> None:
    parts = "_**1.1**_ _**Ripple Gate**_\n\nA gate.\n\n_**1.2**_ _**Lazy Expiry**_\n\nIt deletes.\n"
    document = paper(tmp_path, f"{PYMUPDF4LLM}\n{parts}")
    assert outline(document)[1:] == [(2, "1.1", "Ripple Gate"), (2, "1.2", "Lazy Expiry")]


@pytest.mark.parametrize(
    "text",
    [
        "# **Gated Ripple**\n\n# **Sampling**\n\n**Ann Lee**\n\n## **Abstract**\n\nWe gate.\n\n## **Method**\n",
        "## Gated Ripple Sampling\n\nAnn Lee\n\n## Zusammenfassung\n\nWir filtern.\n\n"
        "## 1. Einleitung\n\n## 2. Methode\n",
    ],
)
def test_titles_in_two_headings_or_above_numbered_sections(tmp_path: Path, text: str) -> None:
    assert paper(tmp_path, text).title == TITLE


@pytest.mark.parametrize("second", ["Ann Lee, Bo Ray", "Introduction", "1 Gates"])
def test_a_heading_below_the_title_is_no_part_of_it(tmp_path: Path, second: str) -> None:
    assert paper(tmp_path, f"# {TITLE}\n\n# {second}\n\n## Abstract\n\nWe gate.\n").title == TITLE


def test_marks_of_converters_are_no_text(tmp_path: Path) -> None:
    text = (
        f"# {TITLE}\n\n## Gates {{#sec:gates}}\n\n[MISSING_PAGE_EMPTY:2]\n\n"
        "**==> picture [9 x 9] intentionally omitted <==**"
        "\n\n**----- Start of picture text -----**<br>\nlabel<br>**----- End of picture text -----**<br>\n\n"
        "::: {#refs}\n\n"
        "A gate opens, see @sec:ends. $$x=1$$ {#eq:one}\n\n## Ends {-}\n\nIt ends.\n"
    )
    document = paper(tmp_path, text)
    assert [section.title for section in document.walk()] == ["Gates", "Ends"]
    read = " ".join(plain(document, 0, len(document.text)).split())
    assert read == "Gates A gate opens, see sec. ends. $x=1$ Ends It ends."
