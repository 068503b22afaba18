"""Parses an HTML paper from arXiv (LaTeXML) or a journal into a `Document`.

First converts the page to Markdown with formulas in TeX, which becomes `Document.text`. A span's `line` is the line on
which the paragraph's element starts in the file. LaTeXML documents its classes at
https://math.nist.gov/~BMiller/LaTeXML/manual/schema/.
"""

import hashlib
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from lxml import etree, html

from xkg.build.paper.document import Document
from xkg.build.paper.files import MemoryReader, PaperFiles
from xkg.build.paper.front_matter import arxiv_id_in, doi_in, first_year, is_person, may_be_names, venue_year
from xkg.build.paper.markdown.document import parse_markdown
from xkg.build.paper.markdown.writer import MarkdownWriter, literal
from xkg.build.paper.pdf_html.html_inline import BREAK, classes, formula, is_display, is_tex, plain_text, rendered
from xkg.build.paper.reference_text import reference_from_text
from xkg.errors import InputError
from xkg.model import Reference

_SKIPPED = frozenset(
    ("script", "style", "nav", "header", "footer", "aside", "button", "noscript", "template", "svg", "form", "iframe",
     "select", "head", "object", "img"),
)  # fmt: skip
_SKIPPED_CLASSES = frozenset(
    ("ltx_TOC", "ltx_page_footer", "ltx_page_header", "ltx_page_navbar", "ltx_pagination", "ltx_dates", "ltx_keywords",
     "ltx_authors", "ltx_note", "ltx_rdf", "ltx_classification", "ltx_ERROR", "ltx_acknowledgements", "package-alerts"),
)  # fmt: skip
_BLOCKS = frozenset(
    ("address", "article", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt", "figure", "h1", "h2",
     "h3", "h4", "h5", "h6", "hr", "li", "main", "math", "ol", "p", "pre", "section", "table", "ul"),
)  # fmt: skip
_LEVELS = {"document": 1, "part": 2, "chapter": 2, "section": 2, "appendix": 2, "bibliography": 2, "abstract": 2,
           "index": 2, "subsection": 3, "subsubsection": 4, "paragraph": 0, "subparagraph": 0}  # fmt: skip
_HEAD_AFTER_BREAK = re.compile(rf"{BREAK}[^\S{BREAK}]*+(?=\*{{1,2}}[^*{BREAK}]{{2,120}}(?:[.:?]\*|\*{{1,2}}[.:]))")
_REFERENCE_LISTS = re.compile(r"(?i)^(references|bibliography|reflist|ref-list|citations?-list)$")


def parse_html(data: bytes, path: Path) -> Document:
    """Parses the paper in an HTML file. Raises `InputError` if the file has no text."""
    root = _tree(data)
    body = _body(root) if root is not None else None
    writer = MarkdownWriter()
    walk = _Walk(writer, path.name)
    if root is not None and body is not None:
        walk.front(root, body)
        walk.blocks(body)
    if not writer.text.strip("# \n"):
        raise InputError(f"{path} has no text; use the page with the paper itself, saved as HTML")
    files = PaperFiles(MemoryReader({path.name: writer.text.encode("utf-8", "replace")}))
    document = parse_markdown(files, path.name)
    metadata = _metadata(root)
    mark = " ".join(plain_text(e) for e in root.xpath("//*[contains(@id, 'watermark')]"))
    arxiv_id = arxiv_id_in("arxiv:" + metadata.get("citation_arxiv_id", "")) or arxiv_id_in(mark) or document.arxiv_id
    year = re.search(r"(?:19|20)\d\d", metadata.get("citation_publication_date", metadata.get("citation_date", "")))
    return document.model_copy(
        update={
            "format": "html",
            "authors": tuple(walk.authors) or document.authors,
            "arxiv_id": arxiv_id,
            "doi": document.doi or doi_in("doi:" + metadata.get("citation_doi", "")),
            "year": int(year.group()) if year else venue_year(mark) or document.year or first_year(arxiv_id),
            "references": tuple(walk.references) or document.references,
            "spans": tuple(writer.spans),
            "source_sha256": hashlib.sha256(data).hexdigest(),
        }
    )


def _tree(data: bytes) -> Any:
    try:
        data.decode("utf-8")
        encoding = "utf-8"
    except UnicodeDecodeError:
        encoding = None  # the encoding declared by the page
    parser = html.HTMLParser(encoding=encoding, remove_comments=True, remove_pis=True, no_network=True)
    try:
        return html.document_fromstring(data.replace(b"\0", b" "), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return None


def _body(root: Any) -> Any:
    for path in ("//article[contains(@class, 'ltx_document')]", "//*[contains(@class, 'ltx_document')]", "//article"):
        elements = root.xpath(path)
        if elements:
            return max(elements, key=lambda e: len(e.text_content()))
    return next(iter(root.xpath("//main") or root.xpath("//body")), root)


def _metadata(root: Any) -> dict[str, str]:
    return {
        str(m.get("name")): str(m.get("content") or "") for m in root.xpath("//meta[starts-with(@name, 'citation_')]")
    }


class _Walk:
    def __init__(self, writer: MarkdownWriter, name: str) -> None:
        self._out, self._name = writer, name
        self.authors: list[str] = []
        self.references: list[Reference] = []
        self._run_in = ""
        self._titled = False

    def front(self, root: Any, body: Any) -> None:
        """Collects the authors. Writes the title from the page's metadata if the body has none."""
        authors = [str(m.get("content") or "") for m in root.xpath("//meta[@name='citation_author']")]
        names = [rendered(e) for e in body.xpath(".//*[contains(@class, 'ltx_personname')]")] or [
            " ".join(reversed(name.split(", ", 1))) for name in authors
        ]
        rows = (re.sub(rf"\$[^$]*\$|{BREAK}", "\n", name) for name in names)
        self.authors = list(dict.fromkeys(filter(is_person, chain.from_iterable(map(may_be_names, rows)))))
        if not body.xpath(".//h1 | .//*[contains(@class, 'ltx_title_document')]"):
            title = root.xpath("string(//meta[@name='citation_title']/@content)") or root.xpath("string(//title)")
            self._heading(1, literal(" ".join(title.split())), root)

    def blocks(self, element: Any) -> None:
        """Writes all blocks inside an element, turning text between them into paragraphs."""
        inline: list[str] = [literal(element.text or "")]
        for child in element:
            if isinstance(child.tag, str) and _is_block(child):
                self._parted("".join(inline), element)
                inline = []
                self._block(child)
            elif isinstance(child.tag, str) and not _is_skipped(child):
                inline.append(rendered(child))
            inline.append(literal(child.tail or ""))
        self._parted("".join(inline), element)

    def _block(self, element: Any) -> None:
        names = classes(element)
        if _is_skipped(element):
            return
        title = next((n.removeprefix("ltx_title_") for n in names if n.startswith("ltx_title_")), None)
        if title is not None or re.fullmatch(r"h[1-6]", element.tag):
            self._title(element, title)
        elif element.tag == "math" or names & {"ltx_equation", "ltx_equationgroup", "MathJax_Display", "katex-display"}:
            self._equation(element)
        elif _is_bibliography(element):
            self._bibliography(element)
        elif element.tag == "figure" or "ltx_figure" in names or "ltx_table" in names or "ltx_float" in names:
            self._figure(element)
        elif element.tag == "pre" or "ltx_listing" in names:
            self._listing("", _lines(element), element)
        elif element.tag == "table":
            self._figure(element)
        elif element.tag == "li":
            self._run_in = "- "
            self.blocks(element)
            self._run_in = ""
        elif element.tag == "p":
            self._parted(rendered(element), element)
        else:
            self.blocks(element)

    def _parted(self, text: str, element: Any) -> None:
        """Writes a paragraph, split at its displayed formulas."""
        if "$$" not in text:
            self._paragraph(text, element)
            return
        for part in re.split(r"(\n\$\$\n.*?\n\$\$\n)", text, flags=re.DOTALL):
            if part.startswith("\n$$\n"):
                self._display(part[4:-4], element)
            else:
                self._paragraph(part, element)

    def _paragraph(self, text: str, element: Any) -> None:
        for part in _HEAD_AFTER_BREAK.split(text):
            words = " ".join(part.split())
            if words:
                self._out.put(self._run_in + words, self._place(element))
                self._out.put("\n\n")
                self._run_in = ""

    def _title(self, element: Any, kind: str | None) -> None:
        text = _numbered(element, " ".join(rendered(element).replace("**", "").split()))
        text = text if kind != "document" else re.sub(r"(?<!\w)\*|\*(?!\w)", "", text)
        level = _LEVELS.get(kind, 0) if kind is not None else int(element.tag[1])
        if not text or (kind == "document" and self._titled):
            return
        if level == 0:
            self._run_in = f"**{text.rstrip('.: ')}.** "
            return
        self._titled = self._titled or level == 1
        self._heading(level, text.rstrip(":") if kind == "abstract" else text, element)

    def _heading(self, level: int, text: str, element: Any) -> None:
        self._run_in = ""
        if text:
            self._out.put(f"{'#' * level} {text}", self._place(element))
            self._out.put("\n\n")

    def _equation(self, element: Any) -> None:
        rows = [(_row_formula(row), _equation_number(row)) for row in element.xpath(".//tr") or [element]]
        tagged = [rf"{tex} \tag{{{number.strip('()')}}}" if number else tex for tex, number in rows if tex]
        self._display(" \\\\ ".join(tagged), element)

    def _display(self, tex: str, element: Any) -> None:
        if tex.strip():
            self._out.put("$$\n", self._place(element))
            self._out.put(tex.strip() + "\n", self._place(element))
            self._out.put("$$\n\n")

    def _figure(self, element: Any) -> None:
        captions = element.xpath(".//figcaption | .//caption | .//*[contains(@class, 'ltx_caption')]")
        caption = " ".join(plain_text(captions[0]).split()) if captions else ""
        if "ltx_float_algorithm" in classes(element) or re.match(r"(?i)algorithm\b", caption):
            steps = [line for part in element if part not in captions for line in _lines(part)]
            self._listing(caption, steps, element)
        else:
            for part in captions:
                self._paragraph(literal(plain_text(part)), part)

    def _listing(self, head: str, lines: list[str], element: Any) -> None:
        if any(line.strip() for line in lines):
            self._out.put("```\n", self._place(element))
            for line in [head, *lines] if head else lines:
                self._out.put(line.replace("```", "'''") + "\n", self._place(element))
            self._out.put("```\n\n")

    def _bibliography(self, element: Any) -> None:
        for title in element.xpath(".//*[contains(@class, 'ltx_title')] | .//h1 | .//h2 | .//h3")[:1]:
            self._heading(2, " ".join(plain_text(title).split()), title)
        for item in element.xpath(".//*[contains(@class, 'ltx_bibitem')]") or element.xpath(".//li"):
            reference = _reference(item)
            if reference is not None:
                self.references.append(reference)
                self._paragraph(literal(reference.text or ""), item)

    def _place(self, element: Any) -> tuple[str, int]:
        return self._name, int(element.sourceline or 1)


def _row_formula(row: Any) -> str:
    return " ".join(filter(None, (formula(math) for math in row.xpath("descendant-or-self::math"))))


def _equation_number(row: Any) -> str:
    return _first(row, "ltx_tag_equation") or _first(row, "ltx_tag_equationgroup")


def _numbered(title: Any, text: str) -> str:
    """Separates a title from its number. Section numbers such as "II" gain a full stop, while subsection numbers such
    as "II-A" are dropped, because their letter would indicate an appendix."""
    number = _first(title, "ltx_tag")
    if not number or not text.startswith(number) or not re.fullmatch(r"[IVXL]*(-[A-Z]\d*)?", number):
        return text
    return text.removeprefix(number).strip() if "-" in number else f"{number}. {text.removeprefix(number).strip()}"


def _is_block(element: Any) -> bool:
    names = classes(element)
    if element.tag == "math":
        return is_display(element)
    inline_math = names & {"ltx_Math", "katex", "MathJax"}
    return not inline_math and (element.tag in _BLOCKS or any(_block_below(child) for child in element))


def _block_below(element: Any) -> bool:
    return element.tag in ("p", "div", "table", "section", "ul", "ol", "figure")


def _is_skipped(element: Any) -> bool:
    hidden = element.get("hidden") is not None or element.get("aria-hidden") == "true"
    return (
        (element.tag in _SKIPPED and not is_tex(element)) or hidden or not _SKIPPED_CLASSES.isdisjoint(classes(element))
    )


def _is_bibliography(element: Any) -> bool:
    names = classes(element)
    if "ltx_bibliography" in names or element.get("role") == "doc-bibliography":
        return True
    marks = [*names, str(element.get("id") or "")]
    return element.tag in ("ol", "ul", "section", "div") and any(_REFERENCE_LISTS.match(mark) for mark in marks)


def _lines(element: Any) -> list[str]:
    """Returns the lines of an algorithm or (with indentation) a listing."""
    if element.tag == "pre":
        return str(element.text_content()).strip("\n").split("\n")
    lines = element.xpath(".//*[contains(@class, 'ltx_listingline')]") or element.xpath(".//p | .//li")
    return [" ".join(rendered(line).replace("**", "").split()) for line in lines or [element]]


def _reference(item: Any) -> Reference | None:
    tag = _first(item, "ltx_tag_bibitem")
    parts = list(_reference_parts(item))
    if authors := item.xpath(".//*[contains(@class, 'ltx_bib_author-year')]"):  # comes from a .bib file
        parts.insert(0, _words(authors[0]) + ".")
    text = " ".join(parts)
    if len(text) < 10:
        return None
    title: str | None = _first(item, "ltx_bib_title") or (parts[1].rstrip(" .,") if len(parts) > 2 else "")
    reference = reference_from_text(text, key=item.get("id"))
    cited = tag if not authors and re.search(r"[^\W\d_]{2}.*\d{4}", tag[:300]) else None
    title = title if title and len(title.split()) > 1 else reference.title
    return reference.model_copy(update={"title": title, "cited_as": cited})


def _reference_parts(item: Any) -> Iterator[str]:
    r"""Yields the parts that BibTeX styles separate with `\newblock`: authors, title and other details."""
    blocks = item.xpath(".//*[contains(@class, 'ltx_bibblock')]")
    for block in blocks or [item]:
        text = _words(block).removeprefix("External Links: ")
        if text and not text.lower().startswith("cited by"):
            yield text


def _first(element: Any, name: str) -> str:
    """Returns the text of the first descendant with the given class, or '' if there is none."""
    return next((_words(e) for e in element.xpath(".//*[@class]") if name in classes(e)), "")


def _words(element: Any) -> str:
    return " ".join(plain_text(element).split())
