import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.paper.files import MemoryReader, PaperFiles
from xkg.build.paper.latex import bibtex
from xkg.build.paper.latex.bibliography import cited_keys, latex_references, parse_bbl
from xkg.build.paper.reference_text import reference_from_text
from xkg.model import Reference

BIB = r"""
junk @comment{jabref-meta: x}
@string{nips = "Advances in Nothing"}
@inproceedings{one, author = {Lind, Ada and Berg, Bo}, title = {A {GAN} for the {\"O}resund},
  booktitle = nips, year = {2019},
  url = "https://doi.org/10.5555/12.34"}
@article(two, title="Quotes {"} inside", journal="arXiv preprint arXiv:2001.01234", year=2020)
@broken{three, title = {never closed
@misc{four, title = "Four", eprint={2002.00001}}
"""


def references(text: str, **files: str) -> tuple[tuple[Reference, ...], tuple[str, ...]]:
    named = {name.replace("_", "."): content.encode() for name, content in files.items()}
    return latex_references(PaperFiles(MemoryReader(named)), "main.tex", text)


def test_only_cited_entries_of_a_bib_file_in_order_of_citation() -> None:
    found, warnings = references(r"\citep[see][]{two} \cite{one,gone} \bibliography{refs}", refs_bib=BIB)
    assert [(r.key, r.title, r.year, r.arxiv_id, r.doi) for r in found] == [
        ("two", 'Quotes " inside', 2020, "2001.01234", None),
        ("one", "A GAN for the Öresund", 2019, None, "10.5555/12.34"),
    ]
    assert found[1].text == "Ada Lind, Bo Berg. A GAN for the Öresund. Advances in Nothing. 2019"
    assert "gone" in warnings[0]
    assert [r.cited_as for r in found] == [None, "Lind and Berg (2019)"]


def test_nocite_star_takes_all_and_a_broken_entry_loses_only_itself() -> None:
    found, _ = references(r"\nocite{*}\addbibresource{refs.bib}", refs_bib=BIB)
    assert [r.key for r in found if r.title] == ["one", "two", "four"]


def test_a_bibliography_of_another_folder_is_read_where_only_one_has_its_name() -> None:
    def read(files: dict[str, str], folder: str) -> tuple[tuple[Reference, ...], tuple[str, ...]]:
        reader = MemoryReader({name: content.encode() for name, content in files.items()})
        return latex_references(PaperFiles(reader, folder), "main.tex", r"\cite{one}\bibliography{refs}")

    for place in ("refs.bib", "paper/refs.bib", "paper/submitted/texts/refs.bib"):
        found, warnings = read({place: BIB}, "paper/submitted")
        assert ([r.key for r in found], warnings) == (["one"], ())
    assert read({"a/refs.bib": BIB, "b/refs.bib": BIB}, "c") == ((), ("the bibliography refs was not found",))


def test_a_bbl_of_another_name_is_read_if_it_has_most_of_the_cited_works() -> None:
    bbl = "\\begin{thebibliography}{1}\\bibitem{a} A. Lind. \\newblock Terns.\\end{thebibliography}"
    other = bbl.replace("{a}", "{z}").replace("Terns", "Gulls")
    for named in ({"output_bbl": bbl}, {"old_bbl": other, "ms_bbl": bbl}):
        found, warnings = references(r"\cite{a}\bibliography{refs}", **named)
        assert [r.title for r in found] == ["Terns"]
        assert len(warnings) == 1
        assert warnings[0].startswith("the references were read from ")
    assert references(r"\cite{a}\bibliography{refs}", old_bbl=other)[0] == ()


def test_citations_are_found_in_all_their_forms() -> None:
    text = r"\citet*{a} \Citep[x][y]{b, c} \textcite{d} \autocite{e} \parencite [f] {g} \nocite{h} \recite \citation"
    text += r"\citestyle{authoryear} \setcitestyle{round} \newcommand{\cites}[1]{\citeauthor{#1}'s (\citeyear{#1})}"
    assert cited_keys(text) == ["a", "b", "c", "d", "e", "g", "h"]


NATBIB = r"""\begin{thebibliography}{2}
\providecommand{\natexlab}[1]{#1}
\expandafter\ifx\csname urlstyle\endcsname\relax
\bibitem[Lind et~al.(2019{\natexlab{a}})Lind, {van Berg}, and M{\"u}ller]{lind}
Ada Lind, Bo~{van Berg}, and Cy M{\"u}ller.
\newblock Sparse probes: {É}tudes in {$L_1$}.
\newblock \emph{Journal of Nothing}, 12\penalty0 (3):\penalty0 1--9, 2019{\natexlab{a}}.
\newblock \doi{10.1234/jn_12.5}.
\bibitem[Berg(2020)]{berg}
B.~Berg.
\newblock Do restarts suffice? {A} study, 2020.
\newblock URL \url{https://arxiv.org/abs/2001.01234}.
\end{thebibliography}"""

IEEE = r"""\begin{thebibliography}{1}
\bibitem{lind}
A.~Lind and B.~Berg, ``Sparse probes, revisited,'' \emph{J. Nothing}, vol.~3, no.~2, pp. 1--9, 1998.
\bibitem{plain} C.~Cole. Shallow nets. In \textit{Proc. of Nothing}, 2003.
\end{thebibliography}"""

REVTEX = r"""\begin{thebibliography}{1}
\bibitem [{\citenamefont {Lind}(2001)}]{lind}
  \BibitemOpen \bibfield {author} {\bibinfo {author} {\bibfnamefont {A.}~\bibnamefont {Lind}},\ }
  \bibfield {title} {\bibinfo {title} {Quantum probes},\ }
  \href {https://doi.org/10.1103/PhysRev.1.2} {\bibfield {journal} {\bibinfo {journal} {PR}}
  (\bibinfo {year} {2001})}\BibitemShut {NoStop}
\end{thebibliography}"""

BIBLATEX = r"""\refsection{0}
 \datalist[entry]{none/global//global/global}
    \entry{lind}{article}{}
      \name{author}{1}{}{%
        {{hash=1}{%
           family={Lind},
           familyi={L\bibinitperiod},
           given={Ada},
        }}}
      \field{journaltitle}{Journal of Nothing}
      \field{title}{Sparse \emph{probes}}
      \field{year}{2019}
      \verb{doi}
      \verb 10.1234/jn.5
      \endverb
    \endentry
    \entry{berg}{misc}{}
      \field{title}{Restarts}
      \field{eprinttype}{arXiv}
      \verb{eprint}
      \verb 2001.01234
      \endverb
    \endentry
 \enddatalist"""


@pytest.mark.parametrize(
    ("bbl", "expected"),
    [
        (
            NATBIB,
            [
                ("lind", "Sparse probes: Études in $L_1$", 2019, None, "10.1234/jn_12.5", "Lind et al. (2019a)"),
                ("berg", "Do restarts suffice? A study", 2020, "2001.01234", None, "Berg (2020)"),
            ],
        ),
        (
            IEEE,
            [
                ("lind", "Sparse probes, revisited", 1998, None, None, None),
                ("plain", "Shallow nets", 2003, None, None, None),
            ],
        ),
        (REVTEX, [("lind", "Quantum probes", 2001, None, "10.1103/PhysRev.1.2", "Lind (2001)")]),
        (
            BIBLATEX,
            [
                ("lind", "Sparse probes", 2019, None, "10.1234/jn.5", "Lind (2019)"),
                ("berg", "Restarts", None, "2001.01234", None, None),
            ],
        ),
    ],
    ids=["natbib", "ieee", "revtex", "biblatex"],
)
def test_bbl_styles(bbl: str, expected: list[tuple[object, ...]]) -> None:
    assert [(r.key, r.title, r.year, r.arxiv_id, r.doi, r.cited_as) for r in parse_bbl(bbl)] == expected


def test_the_bbl_is_preferred_to_the_bib() -> None:
    found, _ = references(r"\cite{one}\bibliography{refs}", refs_bib=BIB, main_bbl=NATBIB)
    assert [r.key for r in found] == ["lind", "berg"]


@pytest.mark.parametrize(
    ("text", "title", "year"),
    [
        (
            "Lind, A., Berg, B. C., and Cole, C. d. L. Sparse probes. In ICML, pp. 1998-2007, 2019.",
            "Sparse probes",
            2019,
        ),
        (
            "Lind, A., et al. Sparse probes: A view. arXiv preprint arXiv:2001.01234, 2020a.",
            "Sparse probes: A view",
            2020,
        ),
        (
            "Lind, A. and Berg, B. Are probes vs. restarts a choice? In NeurIPS, 2021.",
            "Are probes vs. restarts a choice?",
            2021,
        ),
        ("Lind, A. (2018). Sparse probes. Journal of Nothing, 12(3), 1–9.", "Sparse probes", 2018),
        ("Ada Lind and Bo Berg. 2018. Sparse probes. In Proceedings of Nothing.", "Sparse probes", 2018),
        ("[12] A. Lind and B. Berg, “Sparse probes,” in Proc. Nothing, 2017.", "Sparse probes", 2017),
        ("Ada Lind, Bo Berg, and Cy Cole. Sparse probes. In Nothing, 2016.", "Sparse probes", 2016),
        (
            "3. OpenAI. Probes technical report. arXiv:2303.08774, 2023. URL https://x.org/1999.",
            "Probes technical report",
            2023,
        ),
        ("Ada Lind. 2016. Sparse probes in R. Journal of Nothing, 8(1):1–2.", "Sparse probes in R", 2016),
        ("Lind, Ada B and Berg, Bo C. Sparse probes. In Nothing, 2016.", "Sparse probes", 2016),
        ("Lind, Ada, Do, Bo B., and van der Berg, C Cy. Sparse probes. 2016.", "Sparse probes", 2016),
        ("Ada Lind, R. Bo Berg, and Cy Cole. 2018. Sparse probes. In Nothing.", "Sparse probes", 2018),
        ("Lind, A. B. C.; and Berg, D. 2018. Sparse probes. In Nothing.", "Sparse probes", 2018),
        ("A. Lind and B. C. Berg, Sparse probes. Anytown: Nothing Press, 2018.", "Sparse probes", 2018),
        ('Ada Lind. How "less is more" in probes. In Nothing, 2018.', 'How "less is more" in probes', 2018),
        ("Lind, A. Sparse probes. nature, 518(7540):529–533, 2015.", "Sparse probes", 2015),
        ("Lind, A., & Berg, B. 2005, Monthly Notices of Nothing, 359, 567", None, 2005),
        ("Lind, A., & Berg, B. 2005, ApJ, 359, A67", None, 2005),
        ("PMLR, volume 80 of Proceedings, pp. 1–12, 2018. In In", None, 2018),
        ("van den Berg, A. Gpt-3.5 probes and J. Doe's law. 2022.", "Gpt-3.5 probes and J. Doe's law", 2022),
        ("Probes contributors. Probes (software), 2023. URL https://example.org/2001.", "Probes (software)", 2023),
    ],
)
def test_titles_in_the_styles_of_the_field(text: str, title: str | None, year: int) -> None:
    reference = reference_from_text(text)
    assert (reference.title, reference.year) == (title, year)


def test_identifiers() -> None:
    reference = reference_from_text("Lind, A. Probes. In ACL, 2023. doi: 10.18653/v1/2023.acl-long. 245 .")
    assert reference.doi == "10.18653/v1/2023.acl-long.245"
    assert reference_from_text("Lind, A. Probes. arXiv preprint physics/0004057, 2000.").arxiv_id == "physics/0004057"


@given(st.text(alphabet=st.sampled_from('@{}"=,#\\ab1.() \n$%'), max_size=120))
def test_any_text_as_a_bibliography(text: str) -> None:
    for entry in bibtex.entries("@a{b, " + text):
        assert entry.key
    parse_bbl("\\bibitem" + text)
    reference_from_text(text)


def test_abbreviations_that_stand_for_one_another_stay_small() -> None:
    doubled = "@string{a = a # a # a}\n" * 60
    (entry,) = bibtex.entries("@string{a = {long }}\n" + doubled + "@article{k, title = a # a}")
    assert len(entry.fields["title"]) < 5_000


@pytest.mark.parametrize("author", [",", " , and , ", "{}", "{},{}", "\\\\"])
def test_an_author_without_a_name_is_none(author: str) -> None:
    bib = f"@article{{one, author = {{{author}}}, title = {{A title of some length}}, year = 2019}}"
    (reference,), _ = references(r"\cite{one}\bibliography{refs}", refs_bib=bib)
    assert reference.title == "A title of some length"
    assert reference.cited_as is None


def test_each_bibliography_of_multibib_has_a_file() -> None:
    bbl = "\\begin{thebibliography}{1}\n\\bibitem{%s}\nA.~Doe. \\newblock %s. 2018.\n\\end{thebibliography}\n"
    text = r"\newcites{supp,data}{Further}{Data}\cite{a}\citesupp{b}\bibliography{refs}\bibliographysupp{refs}"
    files = {"main_bbl": bbl % ("a", "On waiting"), "supp_bbl": bbl % ("b", "On haste")}
    assert [r.key for r in references(text, **files)[0]] == ["a", "b"]
