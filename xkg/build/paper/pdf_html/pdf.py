"""Parses a PDF paper into a `Document`.

First converts the printed text to Markdown, which becomes `Document.text`. It has one paragraph or reference per line,
and marks up headings, emphasis, algorithms and displayed formulas (as characters, not as TeX).

The path in a span includes the page (`paper.pdf#page=3`, RFC 8118). The span's `line` counts the printed lines on that
page in reading order, without running heads."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from xkg.build.paper.document import Document
from xkg.build.paper.files import MemoryReader, PaperFiles
from xkg.build.paper.front_matter import arxiv_id_in, doi_in, first_year, listed_authors, venue_year
from xkg.build.paper.markdown.document import parse_markdown
from xkg.build.paper.markdown.writer import MarkdownWriter, literal
from xkg.build.paper.pdf_html.pdf_blocks import Block, blocks
from xkg.build.paper.pdf_html.pdf_front import abstract_mark, front_rows
from xkg.build.paper.pdf_html.pdf_layout import Placed, reading_order
from xkg.build.paper.pdf_html.pdf_lines import Page, Run, read_pdf
from xkg.build.paper.reference_text import reference_from_text
from xkg.model import Reference

_COMPOUND = re.compile(r"(?<![^\W\d_])[^\W\d_]++-[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_FOOTNOTE_MARK = re.compile(r"[\d,∗*†‡§¶]{1,5}\s*$")
_EQUATION_NUMBER = re.compile(r"(?:^|[ ])\(([A-Z]?\.?\d{1,3}(?:\.\d{1,3}){0,2}[a-z]?)\)$")
_SMALL_WORDS = frozenset("a an and as at by for from in of on or the to via with".split())
_LONGEST_EMPHASIS, _LONGEST_HEAD = 60, 110
_LONGEST_SIGN = 12


def parse_pdf(data: bytes, path: Path) -> Document:
    """Parses the paper in a PDF. Raises the same errors as `read_pdf`."""
    printed = read_pdf(data, path)
    lines = reading_order(printed.pages)
    page_blocks = blocks(lines, printed.title)
    writer = _Writer(path.name, page_blocks)
    for block in page_blocks:
        writer.write(block)
    text = writer.out.text
    document = parse_markdown(PaperFiles(MemoryReader({path.name: text.encode("utf-8", "replace")})), path.name)
    margin, front = printed.pages[0].margin, _printed(printed.pages[:1])
    arxiv_id = arxiv_id_in(margin) or document.arxiv_id
    return document.model_copy(
        update={
            "format": "pdf",
            "title": document.title or printed.title,
            "authors": _authors(lines, page_blocks),
            "arxiv_id": arxiv_id,
            "doi": document.doi or doi_in(front),
            "year": venue_year(front) or document.year or first_year(arxiv_id),
            "references": tuple(_references(page_blocks, writer)),
            "spans": tuple(writer.out.spans),
            "source_sha256": hashlib.sha256(data).hexdigest(),
        }
    )


def _printed(pages: Iterable[Page]) -> str:
    return "\n".join(line.text for page in pages for line in page.fragments)


def _authors(lines: Sequence[Placed], page_blocks: Sequence[Block]) -> tuple[str, ...]:
    title = next((block.lines for block in page_blocks if block.kind == "title"), None)
    text = next((block.lines[0] for block in page_blocks if block.kind not in ("title", "front")), None)
    return listed_authors(list(front_rows(lines, title, text))) if title and text else ()


def _references(page_blocks: Sequence[Block], writer: "_Writer") -> Iterator[Reference]:
    entries = (writer.plain(block.lines) for block in page_blocks if block.kind == "reference")
    return (reference_from_text(entry) for entry in entries if len(entry) > 15)


class _Writer:
    """Writes blocks as Markdown, recording the printed line of each text fragment."""

    def __init__(self, name: str, page_blocks: Sequence[Block]) -> None:
        self._name = name
        self.out = MarkdownWriter()
        printed = [placed.line.text for block in page_blocks for placed in block.lines]
        self._compounds = {word.lower() for text in printed for word in _COMPOUND.findall(text)}
        words = [word for text in printed if not text.isupper() for word in _WORD.findall(text)]
        self._words = {word.lower() for word in words}
        self._acronyms = {word for word in words if word.isupper()} - {w.upper() for w in words if w.islower()}
        self._in_abstract = False
        self._lettered = _lettered_appendices(page_blocks)

    def write(self, block: Block) -> None:
        if block.kind == "title":
            self._flow("# ", block.lines, heading=True)
        elif block.kind == "heading":
            self._heading(block)
        elif block.kind in ("front", "algorithm", "equation"):
            fence = {"front": ("", "\n"), "algorithm": ("```\n", "```\n"), "equation": ("$$\n", "$$\n")}[block.kind]
            self._put(fence[0], block.lines[0])
            for placed in block.lines:
                verbatim = placed.line.text.strip()
                if block.kind == "equation":
                    verbatim = _EQUATION_NUMBER.sub(r" \\tag{\1}", verbatim.replace("$", "＄"))
                verbatim = verbatim.replace("```", "'''")
                self._put(verbatim.replace("∗", "*") if block.kind == "front" else verbatim, placed)
                self._put("\n")
            self._put(fence[1] + "\n")
        elif block.kind == "abstract":
            self._flow("" if self._in_abstract else "## Abstract\n\n", block.lines)
            self._in_abstract = True
        else:
            self._flow("", block.lines, emphasis=block.kind == "text")

    def plain(self, lines: Sequence[Placed]) -> str:
        """Joins the lines into one line of readable text without markup."""
        return "".join(part for part, _ in self._pieces(lines, emphasis=False, marks=False))

    def _heading(self, block: Block) -> None:
        text = block.text
        spaced = re.fullmatch(r"(?:[^\W\d_] ){3,}[^\W\d_]", text)
        self._put("#" * (block.level + 1) + " ")
        if spaced:
            self._put(text.replace(" ", "").capitalize(), block.lines[0])
            self._put("\n\n")
        else:
            # otherwise, a subsection "A." would be parsed as an appendix
            lead = re.match(r"§\s*" if block.level == 1 else r"§\s*|[A-Z][.)]\s+", text)
            skip = lead.end() if lead else 0
            if id(block) in self._lettered:
                self._put(f"{text[0]}. ")
                skip = len(text) - len(text[1:].lstrip())
            self._flow("", block.lines, skip=skip, heading=True)

    def _flow(
        self, lead: str, lines: Sequence[Placed], *, emphasis: bool = False, skip: int = 0, heading: bool = False
    ) -> None:
        self._put(lead)
        if emphasis and (skip := abstract_mark(lines)):
            self._put("## Abstract\n\n")
        for text, placed in self._pieces(lines, emphasis=emphasis, skip=skip):
            self._put(self._uncapitalised(text) if heading and text.isupper() else text, placed)
        self._put("\n\n")

    def _uncapitalised(self, text: str) -> str:
        """Converts a heading in capitals to normal case. Keeps acronyms that occur in the running text."""

        def written(match: re.Match[str]) -> str:
            word = match.group()
            if word in self._acronyms or (len(word) < 4 and word.lower() not in self._words):
                return word
            return word.lower() if word.lower() in _SMALL_WORDS and match.start() else word.capitalize()

        return re.sub(r"(?<![\d.])(?![IVXL]+\.)[^\W\d_]+", written, text)

    def _pieces(
        self, lines: Sequence[Placed], *, emphasis: bool, marks: bool = True, skip: int = 0
    ) -> Iterator[tuple[str, Placed]]:
        """Yields the text of each printed line. Rejoins words hyphenated at line ends, unless the hyphen belongs to the
        word."""
        marked = _few(lines) if emphasis else frozenset()
        texts = []
        for index, placed in enumerate(lines):
            runs = _from(_without_marks_of_notes(placed.line.runs), skip if index == 0 else 0)
            text = _emphasised(runs, marked, first=index == 0) if marks else "".join(run.text for run in runs)
            texts.append(text.strip())
        for index, placed in enumerate(lines):
            text, following = texts[index], texts[index + 1] if index + 1 < len(lines) else ""
            mark = re.search(r"(?<=\w)(\*{1,2})(-?)$", text)
            if mark and re.match(re.escape(mark[1]) + r"\w", following):  # the term continues on the next line
                text, following = text[: mark.start()] + mark[2], following[len(mark[1]) :]
                texts[index + 1] = following
            if not following:
                yield text, placed
            elif re.search(r"[^\W\d_]-$", text):
                yield (text if self._keeps_hyphen(text, following) else text[:-1]), placed
            else:
                yield text + " ", placed

    def _keeps_hyphen(self, text: str, following: str) -> bool:
        head = re.search(r"(?<![^\W\d_])[^\W\d_]++(?=-$)", text)
        tail = re.match(r"[^\W\d_]+", following)
        if head is None or tail is None or not tail.group()[0].islower():
            return True
        left, right = head.group().lower(), tail.group().lower()
        return f"{left}-{right}" in self._compounds and left + right not in self._words

    def _put(self, text: str, placed: Placed | None = None) -> None:
        place = (f"{self._name}#page={placed.line.page}", placed.number) if placed is not None else None
        self.out.put(text, place)


def _lettered_appendices(page_blocks: Sequence[Block]) -> set[int]:
    """Returns the ids of appendix headings such as "A Proofs" and "B Details". The letters must be consecutive, and a
    lone appendix heading must follow the references."""
    expected, cited, out = "A", False, []
    for block in page_blocks:
        if block.kind != "heading" or block.level != 1:
            continue
        cited = cited or re.match(r"(?i)\W*(?:references|bibliography)\b", block.text) is not None
        if re.match(rf"{expected}\s+[^\W\d_a-z]", block.text):
            out.append((id(block), cited))
            expected = chr(ord(expected) + 1)
    return {block for block, after in out if after or len(out) > 1}


def _without_marks_of_notes(runs: Sequence[Run]) -> list[Run]:
    """Removes superscripts that refer to footnotes and, after a word, to references."""
    main = max((run.style.size for run in runs), default=0.0)
    out: list[Run] = []
    for run in runs:
        raised = run.style.size < 0.82 * main and _FOOTNOTE_MARK.match(run.text)
        if raised and out and not out[-1].style.math and re.search(r"(?:[^\W\d_]{3}|[.,;:)])$", out[-1].text):
            if run.text.endswith(" "):
                out[-1] = Run(out[-1].text + " ", out[-1].style)
        else:
            out.append(run)
    return out


def _from(runs: Sequence[Run], skip: int) -> list[Run]:
    out = []
    for run in runs:
        if skip < len(run.text):
            out.append(Run(run.text[skip:], run.style))
        skip = max(0, skip - len(run.text))
    return out


def _few(lines: Sequence[Placed]) -> frozenset[str]:
    """Returns the Markdown emphasis for parts of these lines. Italic or bold type throughout most of a paragraph does
    not count."""
    count = {"": 0, "*": 0, "**": 0}
    for run in (run for placed in lines for run in placed.line.runs):
        count[_mark(run)] += sum(c.isalpha() for c in run.text)
    return frozenset(mark for mark in ("*", "**") if count[mark] < 0.5 * sum(count.values()))


def _mark(run: Run) -> str:
    return "" if run.style.math else "**" if run.style.bold else "*" if run.style.italic else ""


def _is_sign(run: Run) -> bool:
    return len(run.text) <= _LONGEST_SIGN and (run.style.math or not re.search(r"[^\W\d_]{3}|[.:;?!]", run.text))


def _emphasised(runs: Sequence[Run], marks: frozenset[str], *, first: bool) -> str:
    """Returns the text with `marks` around emphasized parts and no other markup. `first` is True at the start of a
    paragraph."""
    pieces: list[tuple[str, str]] = []
    own = [_mark(run) if _mark(run) in marks else "" for run in runs]
    for index, run in enumerate(runs):
        mark = own[index]
        if _is_sign(run) and own[index - 1 : index] == own[index + 1 : index + 2]:
            mark = own[index - 1]  # a symbol in an emphasized name
        elif not re.search(r"[^\W\d_]{3}", run.text) and not (pieces and pieces[-1][0] == mark):
            mark = ""
        if pieces and pieces[-1][0] == mark:
            pieces[-1] = mark, pieces[-1][1] + run.text
        else:
            pieces.append((mark, run.text))
    out: list[str] = []
    for mark, text in pieces:
        bare = text.strip()
        longest = _LONGEST_EMPHASIS if out or not first else _LONGEST_HEAD
        if not mark or len(bare) > longest or not bare[0].isalnum():
            out.append(literal(text))
        else:
            lead, tail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
            hyphen = "-" if bare.endswith("-") else ""
            out.append(f"{lead}{mark}{literal(bare.removesuffix('-'))}{mark}{hyphen}{tail}")
    return "".join(out)
