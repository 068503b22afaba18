from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.paper.document import Document
from xkg.build.paper.pdf_html.html import parse_html
from xkg.build.paper.plain import plain
from xkg.build.paper.read import parse_paper
from xkg.errors import InputError, UnsafeInputError


def math(tex: str, display: str = "inline") -> str:
    return (
        f'<math class="ltx_Math" alttext="{tex}" display="{display}"><semantics><mi>q</mi>'
        f'<annotation encoding="application/x-tex">{tex}</annotation></semantics></math>'
    )


def step(number: int, text: str) -> str:
    return f'<div class="ltx_listingline"><span class="ltx_tag ltx_tag_listingline">{number}:</span> {text}</div>'


PAIR = '<span class="ltx_text ltx_font_bold">for</span> each pair ' + math("(i,j)") + " do"
MEAN = math(r"x=\frac{w_{1}x_{1}+w_{2}x_{2}}{w_{1}+w_{2}},", "block")

# This has the structure of LaTeXML's output as served by arxiv.org/html and ar5iv.
PAGE = f"""<!DOCTYPE html><html lang="en"><head><title>Merging Light Particles</title>
<script>var noise = "script";</script></head><body>
<nav class="ltx_page_navbar"><nav class="ltx_TOC"><ol class="ltx_toclist"><li>1 Introduction</li></ol></nav></nav>
<header class="desktop_header">Report an issue <button>Close</button></header>
<div class="ltx_page_main"><div id="watermark-tr">arXiv:1203.01234v2 [stat.CO] 05 Mar 2012</div>
<div class="ltx_page_content"><article class="ltx_document ltx_authors_multiline">
<h1 class="ltx_title ltx_title_document">Merging Light Particles</h1>
<div class="ltx_authors"><span class="ltx_creator ltx_role_author"><span class="ltx_personname">Ada Writer
</span><span class="ltx_author_notes">University of Filters</span></span>
<span class="ltx_creator ltx_role_author"><span class="ltx_personname">Ben Scholar</span></span></div>
<div class="ltx_abstract"><h6 class="ltx_title ltx_title_abstract">Abstract</h6>
<p class="ltx_p">We sort particles by their weight {math("w_{i}")} and merge the lightest ones.</p></div>
<section class="ltx_section" id="S1"><h2 class="ltx_title ltx_title_section"><span class="ltx_tag ltx_tag_section">1
</span>Introduction</h2>
<div class="ltx_para"><p class="ltx_p">A <em class="ltx_emph ltx_font_italic">particle filter</em> keeps samples
(<cite class="ltx_cite"><a href="#bib.bib1">Writer, 2011</a></cite>)<span class="ltx_note ltx_role_footnote">
<sup class="ltx_note_mark">1</sup><span class="ltx_note_content">A footnote.</span></span> and draws them again.</p>
</div>
<section class="ltx_paragraph"><h4 class="ltx_title ltx_title_paragraph">Contributions.</h4>
<div class="ltx_para"><p class="ltx_p">Ours needs a_b and $5, no tuning.</p></div></section></section>
<section class="ltx_section"><h2 class="ltx_title ltx_title_section"><span class="ltx_tag ltx_tag_section">2 </span>
Method</h2><section class="ltx_subsection"><h3 class="ltx_title ltx_title_subsection"><span
class="ltx_tag ltx_tag_subsection">2.1 </span>Light Merging</h3>
<div class="ltx_para"><p class="ltx_p">Two neighbours become one:</p>
<table class="ltx_equation ltx_eqn_table"><tbody><tr class="ltx_equation ltx_eqn_row ltx_align_baseline">
<td class="ltx_eqn_cell">{MEAN}</td>
<td class="ltx_eqn_cell ltx_eqn_eqno"><span class="ltx_tag ltx_tag_equation">(1)</span></td></tr></tbody></table>
<p class="ltx_p">which keeps the mean.</p></div>
<figure class="ltx_float ltx_float_algorithm" id="alg1"><figcaption class="ltx_caption"><span
class="ltx_tag ltx_tag_float"><span class="ltx_text ltx_font_bold">Algorithm 1</span> </span> Light merging</figcaption>
<div class="ltx_listing">{step(1, "sort the samples by weight")}
{step(2, PAIR)}
{step(3, "replace both by their mean")}{step(4, "end for")}</div></figure>
<figure class="ltx_figure" id="F1"><img src="x.png" alt="Refer to caption"><figcaption class="ltx_caption"><span
class="ltx_tag ltx_tag_figure">Figure 1: </span>Two samples become one.</figcaption></figure>
</section></section>
<section class="ltx_bibliography" id="bib"><h2 class="ltx_title ltx_title_bibliography">References</h2>
<ul class="ltx_biblist"><li class="ltx_bibitem" id="bib.bib1"><span class="ltx_tag ltx_role_refnum
ltx_tag_bibitem">Writer (2011)</span><span class="ltx_bibblock">Ada Writer. </span><span class="ltx_bibblock">A filter
that keeps the mean. </span><span class="ltx_bibblock">arXiv preprint arXiv:1101.01111, 2011. </span></li>
<li class="ltx_bibitem ltx_bib_article" id="bib.bib2"><span
class="ltx_tag ltx_bib_author-year ltx_role_refnum ltx_tag_bibitem">C. Scholar and D. Writer (2013)</span><span
class="ltx_bibblock"><span class="ltx_text ltx_bib_title">Merging of weighted samples</span>. </span><span
class="ltx_bibblock">Journal of Sampling <span class="ltx_text ltx_bib_volume">12</span>. </span><span
class="ltx_bibblock ltx_bib_cited">Cited by: <a href="#S1">§1</a>. </span></li></ul></section>
<section class="ltx_appendix"><h2 class="ltx_title ltx_title_appendix"><span class="ltx_tag ltx_tag_appendix">Appendix A
</span>Proofs</h2><div class="ltx_para"><p class="ltx_p">The mean is kept.</p></div></section>
</article></div><footer class="ltx_page_footer">Generated by LaTeXML</footer></div></body></html>"""


@pytest.fixture(scope="module")
def document() -> Document:
    return parse_html(PAGE.encode(), Path("filter.html"))


def test_front_matter(document: Document) -> None:
    assert document.format == "html"
    assert document.title == "Merging Light Particles"
    assert document.authors == ("Ada Writer", "Ben Scholar")
    assert (document.arxiv_id, document.year) == ("1203.01234", 2012)
    assert document.abstract == "We sort particles by their weight $w_{i}$ and merge the lightest ones."


def test_sections_with_numbers_and_appendix(document: Document) -> None:
    assert [(s.level, s.number, s.title, s.appendix) for s in document.walk()] == [
        (1, "1", "Introduction", False),
        (4, None, "Contributions", False),
        (1, "2", "Method", False),
        (2, "2.1", "Light Merging", False),
        (1, None, "References", False),
        (1, "A", "Proofs", True),
    ]


def test_text_is_the_paper_alone(document: Document) -> None:
    text = plain(document, 0, len(document.text))
    assert "A particle filter keeps samples and draws them again." in text
    assert "Ours needs a_b and" in text
    for noise in ("footnote", "Report an issue", "noise", "Generated by", "Refer to caption", "University"):
        assert noise not in text
    assert [e.text for e in document.emphases] == ["particle filter"]


def test_equations_and_algorithms(document: Document) -> None:
    [equation] = document.equations
    assert equation.latex == r"x=\frac{w_{1}x_{1}+w_{2}x_{2}}{w_{1}+w_{2}},"
    [algorithm] = document.algorithms
    assert algorithm.title == "Light merging"
    assert algorithm.body.split("\n") == [
        "sort the samples by weight",
        "for each pair $(i,j)$ do",
        "replace both by their mean",
        "end for",
    ]


def test_references(document: Document) -> None:
    assert [(r.key, r.title, r.year, r.arxiv_id, r.cited_as) for r in document.references] == [
        ("bib.bib1", "A filter that keeps the mean", 2011, "1101.01111", "Writer (2011)"),
        ("bib.bib2", "Merging of weighted samples", 2013, None, None),
    ]
    assert (document.references[1].text or "").startswith("C. Scholar and D. Writer (2013). Merging")
    assert "Cited by" not in document.text


def test_offsets_lead_to_lines_of_the_file(document: Document) -> None:
    def line(words: str) -> str:
        place = document.place(document.text.index(words))
        assert place is not None
        assert place[0] == "filter.html"
        return PAGE.split("\n")[place[1] - 1]

    assert "We sort particles" in line("We sort particles")
    assert "Two neighbours" in line("Two neighbours")
    assert "ltx_title_appendix" in line("Appendix A")
    assert "ltx_equation" in line("x=\\frac")


def test_roman_numbers() -> None:
    def title(kind: str, number: str, words: str) -> str:
        tag = f'<span class="ltx_tag ltx_tag_{kind}">{number} </span>'
        return f'<h2 class="ltx_title ltx_title_{kind}">{tag}<span class="ltx_font_smallcaps">{words}</span></h2>'

    page = title("section", "I", "Introduction") + title("section", "II", "Method") + title("subsection", "II-A", "Sum")
    document = parse_html(f"<article class='ltx_document'>{page}</article>".encode(), Path("x.html"))
    assert [(s.level, s.number, s.title) for s in document.walk()] == [
        (1, "I", "Introduction"),
        (1, "II", "Method"),
        (2, None, "Sum"),
    ]


def test_a_page_of_another_maker() -> None:
    """The page is not from LaTeXML. The page has plain headings, MathJax scripts, and a journal's metadata."""
    page = b"""<html><head><meta name="citation_title" content="On Kernels"><meta name="citation_author"
    content="Writer, Ada"><meta name="citation_doi" content="10.1234/abc.5"><meta name="citation_publication_date"
    content="2019/05/01"><title>On Kernels | A Journal</title></head><body><nav>Menu</nav><main>
    <h2>Abstract</h2><p>Kernels are compared.</p><h2>1. Introduction</h2><p>A <b>kernel</b> is
    <script type="math/tex">k(x, y)</script> here.</p><div><script type="math/tex; mode=display">k = 1</script></div>
    <h3>1.1 Details</h3>Loose text<ul><li>one</li><li>two</li></ul><pre>x = 1
    y = 2</pre></main></body></html>"""
    document = parse_html(page, Path("k.html"))
    assert (document.title, document.authors, document.doi) == ("On Kernels", ("Ada Writer",), "10.1234/abc.5")
    assert (document.year, document.abstract) == (2019, "Kernels are compared.")
    assert [(s.number, s.title) for s in document.walk()] == [("1", "Introduction"), ("1.1", "Details")]
    assert [e.latex for e in document.equations] == ["k = 1"]
    assert "$k(x, y)$" in document.text
    assert "Menu" not in document.text


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.html", b"<html><body><script>x</script></body></html>", "has no text"),
        ("saved", b"<!DOCTYPE html><html><body><nav>Menu</nav></body></html>", "has no text"),
    ],
)
def test_what_holds_no_paper_is_said_in_one_line(tmp_path: Path, name: str, content: bytes, what: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=what) as raised:
        parse_paper(path)
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


def test_by_its_name_or_content_a_page_is_known(tmp_path: Path) -> None:
    for name in ("2101.00001v2.html", "page"):
        (tmp_path / name).write_text("\n" + PAGE, encoding="utf-8")
        assert parse_paper(tmp_path / name).format == "html"


def test_a_page_larger_than_any_paper_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    with path.open("wb") as file:
        file.truncate(60_000_000)
    with pytest.raises(UnsafeInputError, match="60 MB"):
        parse_paper(path)


def test_deep_nesting_is_read_or_refused() -> None:
    for depth in (300, 100_000):
        page = b"<html><body><p>start</p>" + b"<div><span>" * depth + b"words of the deepest kind" + b"</body></html>"
        assert "start" in parse_html(page, Path("deep.html")).text


PIECES = st.sampled_from(
    ["<p>", "</p>", "<h2>", "</h2>", "<math alttext='a_b'>", "</math>", "<li>", "<table>", "<tr>", "</table>", "<pre>",
     "<figure class='ltx_float_algorithm'>", "<figcaption>Algorithm 1", "<div class='ltx_bibliography'>", "<b>", "$$",
     "<li class='ltx_bibitem'>", "```", "# x", "text ", "\x00", "é", "&lt;", "\n", "<!--", "<script>", "</script>"]
)  # fmt: skip


@given(st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=40))
def test_any_page_gives_a_document_or_one_line(pieces: list[str]) -> None:
    try:
        document = parse_html("".join(pieces).encode("utf-8", "surrogatepass"), Path("p.html"))
    except InputError:
        return
    edges = [edge for span in document.spans for edge in (span.start, span.end)]
    assert edges == sorted(edges)
    assert edges[-1] <= len(document.text)


@pytest.mark.parametrize(
    "head", ["<b>Light merging.</b>", "<i>Light merging</i>:", '<span class="ltx_font_bold">Light merging:</span>']
)
def test_a_head_after_a_line_break_begins_a_paragraph(head: str) -> None:
    page = f"""<html><body><h1>A filter of samples</h1><h2>1 Method</h2>
    <p>Samples are drawn again.<br>They<br><b>all</b> stay. <br> {head} Two become one at their mean.</p>"""
    document = parse_html(page.encode(), Path("p.html"))
    assert [(s.title, s.level) for s in document.walk()] == [("Method", 1), ("Light merging", 4)]
    assert "Samples are drawn again. They **all** stay.\n\n" in document.text


@pytest.mark.parametrize("kind", ["equation", "equationgroup"])
def test_the_number_beside_an_equation_is_its_tag(kind: str) -> None:
    number = f'<td rowspan="2"><span class="ltx_tag ltx_tag_{kind}">(A.3)</span></td>'
    rows = f"<tr><td>{math('a = b')}</td>{number}</tr><tr><td>{math('c = d')}</td></tr>"
    page = f'<html><body><h1>A filter</h1><p>Samples:</p><table class="ltx_{kind}">{rows}</table></body></html>'
    (equation,) = parse_html(page.encode(), Path("p.html")).equations
    assert equation.numbers == ("A.3",)
