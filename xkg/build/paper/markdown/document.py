"""Parses Markdown papers, including Mathpix output, into a `Document`."""

import bisect
import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from xkg.build.paper.document import Algorithm, Document, Emphasis, Equation, SourceSpan
from xkg.build.paper.files import PaperFiles
from xkg.build.paper.front_matter import (
    arxiv_id_in,
    doi_in,
    first_year,
    in_order,
    is_person,
    listed_authors,
    may_be_names,
    venue_year,
)
from xkg.build.paper.headings import (
    KNOWN_TITLE,
    Heading,
    is_noun_phrase,
    is_references,
    normalised,
    numbered,
    run_in,
    split_number,
    tree,
    without_running_heads,
)
from xkg.build.paper.latex.algorithms import LABEL, latex_algorithms
from xkg.build.paper.latex.authors import authors_in
from xkg.build.paper.latex.tex.formulas import math
from xkg.build.paper.latex.tex.macros import expand, find_macros
from xkg.build.paper.latex.tex.text import latex_text
from xkg.build.paper.latex.tex.tokens import Tex
from xkg.build.paper.markdown.algorithms import markdown_algorithms
from xkg.build.paper.markdown.blocks import Region, inside_any, is_mathpix, lines_of, regions
from xkg.build.paper.markdown.front import author_name, front_fields, front_rows
from xkg.build.paper.markdown.references import markdown_references
from xkg.build.paper.markdown.text import ATTRIBUTES, inline, markdown_text

_SECTION = re.compile(r"\\(?P<sub>(?:sub){0,2})section\*?(?=\{)|\\(?P<run>(?:sub)?paragraph)\*?(?=\{)")
_ATX = re.compile(
    r" {0,3}(?:<(?:span|a)\b[^<>]{0,100}></(?:span|a)>){0,5}(#{1,6})[ \t]+(\S.{0,400}?)(?:[ \t]+#+)?[ \t]*$"
)
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_BOLD_LINE = re.compile(
    r"((?:(?:\*\*[^*\n]{1,200}\*\*|_\*\*[^*\n]{1,200}\*\*_|\*{3}[^*\n]{1,200}\*{3}|__[^_\n]{1,200}__)[ \t]*){1,30})$"
)
_HTML_HEADING = re.compile(r"<h([1-6])\b[^<>]{0,200}>(.{1,400}?)</h\1>[ \t]*$", re.I | re.M | re.S)
_BOLD_RUN_IN = re.compile(r"(?:\*\*|__)([^*\n]{2,120}?)([.:?]?)(?:\*\*|__)([.:]?)[ \t]+(?=\S)")
_ITALIC_RUN_IN = re.compile(r"(?:\*|_)([^*_\n]{2,120}?)([.:?]?)(?:\*|_)([.:]?)[ \t]+(?=\S)")
_CITATION = re.compile(r"\s?(?:\[[\d,\s–-]{1,40}\]|\([^()]{1,200}\b(?:19|20)\d\d[a-z]?\))")
_STATEMENT = re.compile(
    r"(?i)(?:proof|theorem|lemma|proposition|corollary|definition|figure|table|algorithm)\b"
    r"|(?:assumption|claim|example|remark)\s\d"
)
_ABSTRACT_RUN_IN = re.compile(r"[*_]{0,3}abstract[*_]{0,3}\s{0,3}[.:—–-]+[*_]{0,3}\s*(?=\S)", re.IGNORECASE)
_TERMINAL = re.compile(r"[.:!?”\")\]}$|]$")
_EMPHASIS = re.compile(
    r"\*\*(?P<bold>[^*\n]{1,150})\*\*|(?<![\w_])__(?P<bold2>[^_\n]{1,150})__(?![\w_])"
    r"|(?<![\w*\\])\*(?P<italic>[^*\s](?:[^*\n]{0,148}[^*\s])?)\*(?![\w*])"
    r"|(?<![\w_\\$])_(?P<italic2>[^_\s](?:[^_\n]{0,148}[^_\s])?)_(?![\w_])"
    r"|(?<!`)`(?P<monospace>[^`\n]{1,100})`(?!`)"
    r"|\\(?:textit|emph)\{(?P<tex_italic>[^{}\n]{1,150})\}|\\textbf\{(?P<tex_bold>[^{}\n]{1,150})\}"
    r"|\\texttt\{(?P<tex_monospace>[^{}\n]{1,150})\}"
)
_LISTED = re.compile(r"^\[\d{4}\.\d{4,5}(?:v\d+)?\]\s++")  # the format of page titles on arXiv
_NO_TERM = re.compile(r"(?i)(?:abstract|algorithm \d+|figure \d+|table \d+)\b")
_INLINE_MATH = re.compile(r"\$[^$\n]{1,2000}+\$|\\\((?:[^\\\n]|\\[^()\n]){1,2000}+\\\)")
_DISPLAY_INLINE = re.compile(r"\$\$([^$]{1,5000})\$\$")
_BOLD_TAG = re.compile(r"</?(?:b|strong)>", re.I)
_TAG_MARK = re.compile(r"</?[a-z][^<>\n]{0,200}>", re.I)
_TAG = re.compile(r"\\tag\*?\s?\{([^{}]{1,40})\}")
# Matches lines printed above titles by conferences and arXiv.
_RUNNING = re.compile(
    r"(?i)(?:published|accepted|to appear) (?:as|at|in)\b|under review\b|preprint\b|proceedings of\b|arxiv:\s?\d"
    r"|workshop track\b"
)
_MOST_IN_FRONT = 4  # author names, keywords and similar headings before the abstract
_SIGNS = "*∗†‡ "
"""Footnote symbols around a heading."""
_LONGEST_PLAIN = 100  # characters in a heading or title without markup
_BEFORE_TITLE = 300
"""Maximum number of characters (such as a conference name) before a title that is not identified by its heading
level."""


@dataclass(frozen=True, slots=True)
class _Title:
    text: str
    end: int


def parse_markdown(files: PaperFiles, main: str) -> Document:
    """Parses the paper in the file `main`. Raises `InputError` if the paper has no text."""
    text = files.main(main)
    own = find_macros(text) if "\\newcommand" in text or "\\def" in text else None
    paper = _Paper(text)
    title = paper.title()
    headings = paper.headings(title)
    abstract, headings = paper.abstract(headings, title)
    headings = without_running_heads(headings, title.text)
    spans = paper.reference_spans(headings)
    body = numbered(sorted([*headings, *paper.run_ins(headings, spans, abstract)], key=lambda h: h.start))
    front_end = min((h.start for h in headings), default=20_000)
    front_text = text[: front_end + 4000] if paper.mathpix else text[:front_end]
    fields = paper.fields()
    arxiv_id = arxiv_id_in("arxiv:" + fields.get("arxiv", "")) or arxiv_id_in(text[:front_end])
    year = re.search(r"(?:19|20)\d\d", fields.get("date", "") + fields.get("year", ""))
    stated = fields.get("abstract", "")
    return Document(
        format="markdown",
        title=title.text,
        abstract=markdown_text(text[slice(*abstract)] if abstract else stated, mathpix=paper.mathpix),
        abstract_span=abstract,
        text=text,
        authors=paper.authors(title, abstract, headings),
        year=int(year.group()) if year else venue_year(front_text) or first_year(arxiv_id),
        arxiv_id=arxiv_id,
        doi=fields.get("doi") or doi_in(text[:front_end]),
        sections=tree(body, len(text)),
        equations=paper.equations(own.table if own else {}),
        algorithms=paper.algorithms(),
        emphases=paper.emphases(spans, body),
        references=tuple(ref for start, end in spans for ref in markdown_references(text, start, end, paper.mathpix)),
        macros=dict(own.table) if own else {},
        macro_defaults=dict(own.defaults) if own else {},
        spans=(SourceSpan(start=0, end=len(text), path=main, line=1),),
        warnings=tuple(files.warnings),
        source_sha256=files.digest(),
    )


class _Paper:
    def __init__(self, text: str) -> None:
        self.text = text
        self.mathpix = is_mathpix(text)
        self.regions = regions(text, mathpix=self.mathpix)
        self.lines = lines_of(text)
        self.tex = Tex(text)

    def readable(self, source: str) -> str:
        return " ".join(inline(source, mathpix=self.mathpix).split())

    def fields(self) -> dict[str, str]:
        """Returns the single-value fields of a YAML block at the top of the paper."""
        plain = (str, int, datetime.date)
        named = {name.removesuffix("_id"): value for name, value in self._front().items()}
        return {name: " ".join(str(value).split()) for name, value in named.items() if isinstance(value, plain)}

    def _front(self) -> Mapping[str, Any]:
        front = self.regions[0] if self.regions and self.regions[0].kind == "front" else None
        return front_fields(self.text[front.body_start : front.body_end][:20_000]) if front else {}

    def title(self) -> _Title:
        """Returns the title from LaTeX, the YAML block or the first heading, but never a section heading."""
        if match := re.search(r"^\\title\s*(?=\{)", self.text, re.MULTILINE):
            group = self.tex.group(match.end())
            if group is not None:
                return _Title(" ".join(latex_text(self.tex.inner(group)[:1000]).split()), group.after)
        stated = self.fields().get("title", "")
        marked = self._marked_headings()
        if marked and (normalised(marked[0][1]) == normalised(stated) if stated else self._is_title(*marked)):
            lines = self._title_lines(marked)
            name = _LISTED.sub("", " ".join(name for _, name in lines))
            return _Title(name, lines[-1][0].body_start)
        return _Title(stated, 0) if stated else self._bold_title()

    def _is_title(self, first: tuple[Heading, str], *others: tuple[Heading, str]) -> bool:
        """Returns whether the first heading is the paper's title. A title has level 1, or is at the top and precedes
        sections."""
        heading, text = first
        number, name = split_number(text)
        if KNOWN_TITLE.match(name) or _SECTION.match(self.text, heading.start):
            return False
        if number is not None and any(other.level <= heading.level for other, _ in others):
            return False
        sections = any(
            number or KNOWN_TITLE.match(section) for number, section in (split_number(other) for _, other in others)
        )
        return heading.level == 1 or (sections and self._is_top(heading))

    def _title_lines(self, marked: Sequence[tuple[Heading, str]]) -> Sequence[tuple[Heading, str]]:
        """Returns the headings that form the title, which may span several lines. They are the only headings at their
        level, with no text in between."""
        level = marked[0][0].level
        lines = list(takewhile(lambda each: each[0].level == level, marked))
        if len(lines) == len(marked) or any(heading.level == level for heading, _ in marked[len(lines) :]):
            return marked[:1]
        for index in range(1, len(lines)):
            heading, name = lines[index]
            apart = self.text[lines[index - 1][0].body_start : heading.start].strip()
            section = split_number(name)[0] or KNOWN_TITLE.match(name)
            if apart or section or all(map(is_person, may_be_names(name))):
                return lines[:index]
        return lines

    def _is_top(self, heading: Heading) -> bool:
        before = sum(region.end - region.start for region in self.regions if region.end <= heading.start)
        return heading.start - before <= _BEFORE_TITLE

    def _bold_title(self) -> _Title:
        """Returns the title from the bold lines at the top of the paper. If the headings are bold or have no markup,
        uses the first line even without markup."""
        found: list[str] = []
        after = 0
        for start, end in self.lines:
            if inside_any(self.regions, start) is not None:
                continue
            line = _TAG_MARK.sub("", _BOLD_TAG.sub("**", self.text[start : min(end, start + 1000)])).strip()
            if (not line and not found) or _RUNNING.match(line):
                continue
            match = _BOLD_LINE.match(line)
            name = self.readable(match[1]).strip(" .:") if match else ""
            if not found and not name and (first := self._marked_headings()[:1]) and first[0][0].start > end:
                plain = self.text[first[0][0].start] not in "#<\\" and len(line) <= 2 * _LONGEST_PLAIN
                return _Title(line, end) if plain and line[-1] not in ".:;," else _Title("", 0)
            if not name or (found and all(map(is_person, may_be_names(name)))):
                break
            found.append(name)
            after = end
        return _Title(" ".join(found), after)

    def _marked_headings(self) -> list[tuple[Heading, str]]:
        """Returns the headings that have markup, which also determines their levels. If there are none, returns the
        plain headings."""
        if not hasattr(self, "_marked"):
            found = self._find_marked()
            below = len(found) > 1 and self.text[found[0][0].start] not in "*_"  # a title with different markup
            sections = found[below:]
            if sections and all(self.text[h.start] in "*_" and not split_number(name)[0] for h, name in sections):
                bold = [each for each in self._find_marked(bold=True) if each[0].start >= sections[0][0].start]
                found = [*found[:below], *bold]
            kept = [each for at, each in enumerate(found) if at > 2 or not _RUNNING.match(each[1])]
            self._marked = kept or self._plain_headings()
        return self._marked

    def _plain_headings(self) -> list[tuple[Heading, str]]:
        """Returns the headings in a text without markup, recognised by number or name. Returns an empty list if there
        is only one."""
        found: list[tuple[Heading, str]] = []
        for index, (start, end) in enumerate(self.lines[:-1]):
            line = self.text[start : min(end, start + _LONGEST_PLAIN + 1)].strip()
            above = self.lines[index - 1] if index else (0, 0)
            alone = not self.text[slice(*above)].strip() and not self.text[slice(*self.lines[index + 1])].strip()
            if not line or not alone or len(line) > _LONGEST_PLAIN or inside_any(self.regions, start) is not None:
                continue
            number, name = split_number(line)
            if KNOWN_TITLE.match(name) or (
                number and name[:1].isupper() and is_noun_phrase(name) and name[-1].isalnum()
            ):
                found.append((Heading(line, 1, start, end), line))
        return found if len(found) > 1 else []

    def _find_marked(self, *, bold: bool = False) -> list[tuple[Heading, str]]:
        headings: list[tuple[Heading, str]] = []
        previous_blank = True
        for index, (start, end) in enumerate(self.lines):
            line = self.text[start : min(end, start + 1000)]
            if not line.strip():
                previous_blank = True
                continue
            if inside_any(self.regions, start) is None:
                heading = self._heading(index, start, end, line, previous_blank, bold)
                if heading is not None and heading.title:
                    headings.append((heading, heading.title))
            previous_blank = False
        return headings

    def _heading(self, index: int, start: int, end: int, line: str, after_blank: bool, bold: bool) -> Heading | None:
        if line.startswith("\\") and (match := _SECTION.match(self.text, start)):
            group = self.tex.group(match.end())
            if group is None:
                return None
            title = " ".join(latex_text(self.text[group.start : min(group.end, group.start + 1000)]).split())
            level = 4 if match["run"] else len(match["sub"]) // 3 + 1
            return Heading(title.rstrip(" .:") if level == 4 else title, level, start, group.after)
        if match := _ATX.match(line):
            level = len(match[1])
            if self.mathpix and level >= 4:
                return None
            return Heading(self.readable(ATTRIBUTES.sub("", match[2])).strip(_SIGNS), level, start, end)
        if line.startswith("<") and (match := _HTML_HEADING.match(self.text, start)):
            return Heading(self.readable(match[2]).strip(_SIGNS), int(match[1]), start, match.end())
        if after_blank and (match := _BOLD_LINE.match(line)):
            title = self.readable(match[1]).rstrip(" .:")
            short = len(title.split()) <= 12 and not match[1].rstrip("*_ \t").endswith((".", ":"))
            titled = bold and (short or is_noun_phrase(title)) and not _STATEMENT.match(title)
            if titled or re.match(r"\d++(?:\.\d++)*+\.?\s|[A-Z]\.\d", title) or KNOWN_TITLE.match(title):
                return Heading(title, 2 if self._uses_atx() else 1, start, end)
            return None
        if after_blank and index + 1 < len(self.lines) and not _ATX.match(line) and len(line) < 200:
            below_start, below_end = self.lines[index + 1]
            below = _SETEXT.match(self.text[below_start : min(below_end, below_start + 300)])
            if below and "|" not in line and not line.lstrip().startswith(("-", "*", ">", "\\")):
                title = self.readable(ATTRIBUTES.sub("", line.rstrip()))
                return Heading(title, 1 if below[1][0] == "=" else 2, start, below_end)
        return None

    def _uses_atx(self) -> bool:
        return bool(re.search(r"^## ", self.text, re.MULTILINE))

    def headings(self, title: _Title) -> list[Heading]:
        """Returns all headings except the title. Levels are counted from 1."""
        marked = [heading for heading, _ in self._marked_headings()]
        if title.text:
            marked = [h for h in marked if h.body_start > title.end or _SECTION.match(self.text, h.start)]
        base = min((h.level for h in marked if h.level < 4 and not _SECTION.match(self.text, h.start)), default=1)
        out = []
        for heading in marked:
            by_latex = bool(_SECTION.match(self.text, heading.start))
            level = heading.level if by_latex else min(4, max(1, heading.level - base + 1))
            out.append(Heading(heading.title, level, heading.start, heading.body_start))
        return out

    def abstract(self, headings: list[Heading], title: _Title) -> tuple[tuple[int, int] | None, list[Heading]]:
        """Returns the abstract's span, and all headings except the abstract's."""
        start = self.text.find("\\begin{abstract}")
        if start >= 0:
            inside = start + len("\\begin{abstract}")
            close = self.text.find("\\end{abstract}", inside)
            following = next((h.start for h in headings if h.start > inside), len(self.text))
            return (inside, close if close >= 0 else min(following, inside + 5000)), headings
        for index, heading in enumerate(headings):
            if normalised(heading.title) in (("abstract",) if index else ("abstract", "summary")):
                end = headings[index + 1].start if index + 1 < len(headings) else len(self.text)
                front = [h for h in headings[:index] if index > _MOST_IN_FRONT or split_number(h.title)[0]]
                return (heading.body_start, end), [*front, *headings[index + 1 :]]
        limit = next((h.start for h in headings), 10_000)
        for begin, _ in self.lines[:400]:
            if begin > max(limit, title.end) + 200:
                break
            if inside_any(self.regions, begin) is None and (match := _ABSTRACT_RUN_IN.match(self.text, begin)):
                blank = re.compile(r"\n[ \t]*\n").search(self.text, match.end())
                return (match.end(), blank.start() if blank else len(self.text)), headings
        return None, headings

    def reference_spans(self, headings: list[Heading]) -> list[tuple[int, int]]:
        spans = []
        for index, heading in enumerate(headings):
            if is_references(heading.title):
                end = headings[index + 1].start if index + 1 < len(headings) else len(self.text)
                spans.append((heading.body_start, end))
        return spans

    def run_ins(
        self, headings: list[Heading], references: list[tuple[int, int]], abstract: tuple[int, int] | None
    ) -> list[Heading]:
        """Returns short titles at the start of a paragraph: bold, italic, or unmarked, because Mathpix drops bold
        type."""
        first = min((h.start for h in headings), default=0)
        heading_starts = {h.start for h in headings}
        run_ins: list[Heading] = []
        previous = ""
        for start, end in self.lines:
            line = self.text[start:end]
            region = inside_any(self.regions, start)
            if region is not None or not line.strip() or start in heading_starts:
                previous = "" if region is None or region.kind != "footnote" else previous
                continue
            complete = not previous or bool(_TERMINAL.search(previous))
            blank_before = not previous
            previous = line.rstrip()[-3:]
            if start < first or any(a <= start < b for a, b in references):
                continue
            if abstract and abstract[0] <= start < abstract[1]:
                continue
            if not complete or not (blank_before or self.mathpix):
                continue
            if heading := self._run_in(start, end):
                run_ins.append(heading)
        return run_ins

    def _run_in(self, start: int, end: int) -> Heading | None:
        bold = _BOLD_RUN_IN.match(self.text, start, end)
        if match := bold or _ITALIC_RUN_IN.match(self.text, start, end):
            title = _CITATION.sub("", self.readable(match[1])).rstrip(" .:")
            stopped = match[2] or match[3] or (bold and is_noun_phrase(title) and self.text[match.end()].isupper())
            head = stopped and not _STATEMENT.match(title) and len(title.split()) <= 12
            if head and title and (bold or is_noun_phrase(title)):
                return Heading(title, 4, start, match.end())
            return None
        if not self.mathpix:
            return None
        line = self.text[start:end]
        math_or_text = run_in(self.text, start, end)
        if math_or_text is None or line.lstrip().startswith(("-", "|", ">")):
            return None
        return Heading(self.readable(math_or_text[0]), 4, start, math_or_text[1])

    def authors(self, title: _Title, abstract: tuple[int, int] | None, headings: list[Heading]) -> tuple[str, ...]:
        if match := re.search(r"^\\author\s*(?=\{)", self.text, re.MULTILINE):
            group = self.tex.group(match.end())
            if group is not None:
                source = re.sub(r"\$\s*\{\s*\}\^\{[^$\n]{0,80}\$", " \\\\and ", self.tex.inner(group)[:20_000])
                return authors_in([source], {}, {})
        if not title.end:
            stated = self._front().get("author") or self._front().get("authors") or []
            people = map(author_name, stated[:200] if isinstance(stated, list) else [stated])
            several = may_be_names if isinstance(stated, str) else str.splitlines
            names = (name.strip() for each in people for name in in_order(each) or several(each))
            return tuple(dict.fromkeys(filter(None, names)))
        sections = (h.start for h in headings if KNOWN_TITLE.match(split_number(h.title)[1]))
        stop = abstract[0] if abstract else next(sections, title.end + 2000)
        return listed_authors(list(front_rows(self.text[title.end : max(title.end, min(stop, title.end + 3000))])))

    def equations(self, macros: Mapping[str, tuple[int, str]]) -> tuple[Equation, ...]:
        spans = [(r.start, r.end, r.body_start, r.body_end) for r in self.regions if r.kind == "math"]
        for match in _DISPLAY_INLINE.finditer(self.text):
            if inside_any(self.regions, match.start()) is None:
                spans.append((*match.span(), *match.span(1)))
        out = []
        for start, end, body_start, body_end in sorted(spans):
            body = self.text[body_start:body_end]
            tags = _TAG.findall(body)
            label = LABEL.search(body)
            name = label[1].strip() if label else next((tag.strip() for tag in tags), None)
            if formula := math(expand(body, macros)):
                numbers = tuple(tag.strip(" ()") for tag in tags)
                out.append(Equation(start=start, end=end, latex=formula, label=name, numbers=numbers))
        return tuple(out)

    def algorithms(self) -> tuple[Algorithm, ...]:
        algorithms = [
            algorithm
            for r in self.regions
            if r.kind == "algorithm"
            for algorithm in latex_algorithms(self.text[r.start : r.end], r.start, (), {}, {})
        ]
        algorithms += markdown_algorithms(self.text, self.regions, self.lines)
        return tuple(sorted(algorithms, key=lambda a: a.start))

    def emphases(self, references: list[tuple[int, int]], headings: list[Heading]) -> tuple[Emphasis, ...]:
        skipped: list[Region] = sorted(
            [
                *self.regions,
                *(Region("math", *m.span(), *m.span()) for m in _INLINE_MATH.finditer(self.text)),
            ],
            key=lambda region: region.start,
        )
        title_spans = {h.start: h.body_start for h in headings}
        starts = sorted(title_spans)
        out = []
        for match in _EMPHASIS.finditer(self.text):
            start = match.start()
            if inside_any(skipped, start) is not None or any(a <= start < b for a, b in references):
                continue
            nearest = bisect.bisect_right(starts, start) - 1
            if nearest >= 0 and start < title_spans[starts[nearest]]:
                continue
            name = match.lastgroup or ""
            style = "bold" if "bold" in name else "monospace" if "monospace" in name else "italic"
            text = match[name] if style == "monospace" else self.readable(match[name])
            if re.search(r"\w", text) and not _NO_TERM.match(text):
                out.append(Emphasis(start=start, end=match.end(), text=text.strip(), style=style))  # type: ignore[arg-type]
        return tuple(out)
