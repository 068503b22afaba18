"""Defines `Document`, a parsed paper. All paper parsers return a `Document`, the only form in which later stages read
papers."""

from typing import Literal

from pydantic import Field

from xkg.model import Reference
from xkg.value import Value


class Section(Value):
    """A section: its heading and text. All offsets refer to `Document.text`, and ends are exclusive.

    `start` is the start of the heading, and `body_start` is the start of the text below the heading. `end` is the start
    of the next heading at the same or a higher level, so a section includes its subsections. `level` is 1 for a
    section, 2 for a subsection, and so on, up to 4 for a run-in paragraph heading. `number` is the heading's number
    ("3.1", "A"), which `title` omits. `appendix` is True for the sections of the appendix."""

    title: str
    level: int
    start: int
    body_start: int
    end: int
    number: str | None = None
    appendix: bool = False
    children: tuple["Section", ...] = ()


class Equation(Value):
    """A displayed equation. `latex` contains the equation's body, without the environment and with macros expanded.
    `numbers` contains the printed number of each numbered row ("8", "3a", "A.2")."""

    start: int
    end: int
    latex: str
    label: str | None = None
    numbers: tuple[str, ...] = ()


class Algorithm(Value):
    """An algorithm in a paper. `title` is the readable caption without "Algorithm 1". `body` contains the readable
    steps, one per line."""

    start: int
    end: int
    title: str
    body: str
    label: str | None = None


class Aside(Value):
    """A block of LaTeX outside the running text, such as a table or footnote.

    A `statement` is a theorem or proof, and its text starts with its printed name. A `table` contains the caption and
    one row per line, with bars between cells. A `float` contains the rest of a float, and its text is often empty. The
    span of a `float` includes any other blocks inside it."""

    kind: Literal["table", "caption", "footnote", "statement", "listing", "float"]
    start: int
    end: int
    text: str


class Emphasis(Value):
    """A term that the author emphasized in running text. `text` is the readable term. The offsets include the
    markup."""

    start: int
    end: int
    text: str
    style: Literal["italic", "bold", "small-caps", "monospace"]


class SourceSpan(Value):
    """Maps part of a document to a file: `text[start:end]` is copied verbatim from `path`, starting at line `line`.
    Paths are relative to the paper's folder."""

    start: int
    end: int
    path: str
    line: int


class Document(Value):
    r"""A parsed paper, with its text and structure.

    `text` keeps the author's markup. For LaTeX, `\input` files are inlined and comments are stripped. Markdown is
    unchanged. PDF and HTML are converted to Markdown (see `pdf_html.pdf` and `pdf_html.html`). `spans` maps every
    offset to a file and a line. The spans are sorted and do not overlap. `xkg.build.paper.plain` returns readable text
    for a span. `asides` is complete only for LaTeX. `labels` maps each label to the printed reference ("Algorithm 2",
    "Equation 3"). `macros` maps each macro's name to (number of arguments, body). If a macro's first argument is
    optional, `macro_defaults` maps the macro's name to its default."""

    format: Literal["latex", "markdown", "pdf", "html"]
    title: str
    abstract: str
    text: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    arxiv_id: str | None = None
    arxiv_version: str | None = None
    subfield: str | None = None
    doi: str | None = None
    abstract_span: tuple[int, int] | None = None
    sections: tuple[Section, ...] = ()
    equations: tuple[Equation, ...] = ()
    algorithms: tuple[Algorithm, ...] = ()
    asides: tuple[Aside, ...] = ()
    emphases: tuple[Emphasis, ...] = ()
    labels: dict[str, str] = Field(default={})
    references: tuple[Reference, ...] = ()
    macros: dict[str, tuple[int, str]] = Field(default={})
    macro_defaults: dict[str, str] = Field(default={})
    spans: tuple[SourceSpan, ...] = ()
    warnings: tuple[str, ...] = ()
    source_sha256: str = ""

    def place(self, offset: int) -> tuple[str, int] | None:
        """Returns the file and 1-based line number for an offset in `text`, or None if no file contains it."""
        for span in self.spans:
            if span.start <= offset < span.end:
                return span.path, span.line + self.text.count("\n", span.start, offset)
        return None

    def walk(self) -> list[Section]:
        """Returns all sections in reading order."""
        out: list[Section] = []
        stack = list(reversed(self.sections))
        while stack:
            section = stack.pop()
            out.append(section)
            stack.extend(reversed(section.children))
        return out
