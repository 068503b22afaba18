"""Splits a `Document`'s running text into sentences, each with its source spans.

Omits headings, floats, tables, algorithms, theorem statements, proofs and bibliographies. A displayed equation belongs
to the sentence around it. A sentence interrupted by a float or page break has two spans."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from xkg.build.paper.document import Document, Section
from xkg.build.paper.latex.tex.macros import unprinted
from xkg.build.paper.latex.tex.tokens import Tex
from xkg.build.paper.markdown.blocks import is_mathpix, regions
from xkg.build.paper.plain import plain


@dataclass(frozen=True)
class Sentence:
    """A sentence of running text. `text` is the readable text of `spans`, joined by a space. `paragraph` numbers the
    paragraphs in reading order. `first` is True for the first sentence in a paragraph. `display` is True if a displayed
    equation is part of the sentence."""

    text: str
    spans: tuple[tuple[int, int], ...]
    paragraph: int
    first: bool
    display: bool = False

    @property
    def start(self) -> int:
        return self.spans[0][0]

    @property
    def end(self) -> int:
        return self.spans[-1][1]

    @property
    def broken(self) -> bool:
        return len(self.spans) > 1


LONGEST = 4000  # the maximum number of characters in a sentence
# In Markdown, a theorem statement extends to the end of its line, which in Mathpix output is a whole paragraph.
_STATEMENT_BLOCK = re.compile(
    r"^\*{0,2}(?:Theorem|Lemma|Proposition|Corollary|Definition|Assumption|Remark|Example|Claim|Property|Proof|Fact)"
    r"(?:[ \t]+[A-Z]?\.?\d[\d.]*)?[ \t]*(?:\([^)\n]*\))?[.:][^\n]*$",
    re.MULTILINE,
)
_SKIP = re.compile(r"\\(?:smallskip|medskip|bigskip|noindent|newline|clearpage|newpage)")  # may occur in a sentence
_UNREAD = re.compile(
    r"\\(begin|end)\{(thebibliography|keywords|IEEEkeywords|CCSXML|comment|acks?|acknowledge?ments?|Acknowledgements?"
    r"|titlepage|teaserfigure|icmlauthorlist|tikzpicture|filecontents)\*?\}"
)
_FRONT = re.compile(
    r"\\(?:title|author|icmltitle|icmltitlerunning|icmlauthor|icmlaffiliation|icmlcorrespondingauthor|icmlkeywords|thanks"
    r"|date|affiliation|address|email|keywords|printAffiliationsAndNotice)\*?(?:\[[^\[\]]{0,200}\])?(?=\{)"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_FEWEST_WORDS = 30  # shorter text before the first section is front matter
_BREAK = re.compile(
    r"\n[ \t]*\n\s*\x04?|\\par\b|\\item\b(?:\[[^\]]{0,400}+\])?"
    r"|\\(?:begin|end)\{(?:itemize|enumerate|description|center|quote|abstract|document)\}(?:\[[^\]]{0,400}+\])?"
    r"|\n[ \t]*(?:[-*+•]|\(?\d{1,2}[.)])[ \t]+|\\(?:smallskip|medskip|bigskip|noindent|newline|clearpage|newpage)\b"
)
_MASKED = (
    re.compile(r"(?<!\\)(\$\$?)(?:[^$\n]|\n(?![ \t]*\n)){1,600}?(?<!\\)\1|\\\((?:[^\\\n]|\\(?![()])){1,400}\\\)"),
    re.compile(r"\\(?:[cC]ite\w*|[cC]?ref|eqref|autoref|label|url|href)\*?(?:\[[^\[\]\n]{0,300}+\]){0,2}+\{[^{}]*+\}"),
    re.compile(r"(?:https?://|www\.)\S*[^\s.,;:!?)}'\"]|\b\w{1,60}(?:\.\w{1,60}){1,10}/\S*[^\s.,;:!?)}'\"]"),
)
# Matches the end of a sentence. \x03 marks the end of a displayed equation, where a sentence may end without a full
# stop.
_END = re.compile(
    r"(?<![.!?\x03])[.!?\x03]++(?:['\"”’)\]}*_]|\$\{ \}\^\{[^$]*\}\$|m{8,}+(?=\s))*(?=[\s\x01\x02]|\Z|\\\\)"
)
_NOT_END = re.compile(
    r"(?:\b(?i:e\.?\s?g|i\.?\s?e|et\s+al|cf|vs|viz|resp|approx|w\.\s?r\.\s?t|a\.k\.a|i\.i\.d|s\.t|Figs?|Eqs?|Eqn|Secs?|"
    r"Sect|Tab|Refs?|Thm|Alg|App|Appx|Chap|Ch|Prop|Def|Lem|Nos?|St|Dr|Prof|Mrs?|Ms|Jr|Sr|Inc|Ltd|pp|ca|Vol|al)"
    r"|(?:^|[\s(])[A-Z])\.$"
)
_STARTS = re.compile(r"[\s\x01\x02\x04]*(?:[^a-z\s\x01\x02\x04]|m{3,})")
_NUMBER = re.compile(r"\(?(?:\d{1,2}|[ivx]{1,4}|[a-h])\)\s+(?=[A-Z])")
_FLOAT, _GLUE, _PARAGRAPH, _HEADING = "\x01", "\x02", "\n\n", "\n\n\x04"
_MARKS = " \n\t\x01\x02\x04"


def is_heading(section: Section) -> bool:
    """Returns whether a section's title is really a heading. A sentence fragment such as "The objective in eq." may
    look like a run-in heading."""
    if section.level < 4:
        return True
    return not re.search(r"(?i)\b(?:eqs?|figs?|secs?|tabs?|refs?|al|e\.g|i\.e|cf|vs)\.?$", section.title)


def _cuts(document: Document) -> list[tuple[int, int, str]]:
    """Returns the spans that are not running text, as (start, end, mark). `_FLOAT` marks spans that may split a
    sentence, and `_GLUE` marks spans inside one."""
    text = document.text
    cuts = [(s.start, s.body_start, _HEADING) for s in document.walk() if is_heading(s)]
    cuts += [(a.start, a.end, _FLOAT) for a in document.algorithms]
    if document.format == "latex":
        return sorted([*cuts, *_latex_cuts(document)])
    blocks = regions(text, mathpix=is_mathpix(text))
    cuts += [(block.start, block.end, _FLOAT) for block in blocks if block.kind not in ("math", "front")]
    cuts += [(m.start(), m.end(), _PARAGRAPH) for m in _STATEMENT_BLOCK.finditer(text)]
    first = min((s.start for s in document.sections), default=None)
    if document.abstract_span is not None:
        cuts.append((0, document.abstract_span[0], _PARAGRAPH))
        if first is not None and first > document.abstract_span[1]:
            cuts.append((document.abstract_span[1], first, _PARAGRAPH))
    elif first is not None and document.format != "markdown":
        cuts.append((0, first, _PARAGRAPH))
    return sorted(cuts)


def _latex_cuts(document: Document) -> Iterator[tuple[int, int, str]]:
    """Yields the parts of a LaTeX paper that are not running text or headings, including the front matter."""
    text = document.text
    marks = {"footnote": _GLUE, "statement": _PARAGRAPH, "listing": _PARAGRAPH, "table": _PARAGRAPH}
    floated = -1
    for aside in document.asides:
        inside = aside.end <= floated
        yield aside.start, aside.end, _FLOAT if inside and aside.kind != "footnote" else marks.get(aside.kind, _FLOAT)
        floated = max(floated, aside.end if aside.kind == "float" else -1)
    opened: dict[str, list[int]] = {}
    for match in _UNREAD.finditer(text):
        starts = opened.setdefault(match[2], [])
        if match[1] == "begin":
            starts.append(match.start())
        elif starts:
            yield starts.pop(), match.end(), _FLOAT
    tex = Tex(text)
    hidden = "|".join(map(re.escape, sorted(unprinted(document.macros))))
    for pattern in (_FRONT, re.compile(rf"\\(?:{hidden})\s*+(?=\{{)")) if hidden else (_FRONT,):
        for match in pattern.finditer(text):
            group = tex.group(match.end())
            yield match.start(), group.after if group else match.end(), _GLUE
    begin = text.find("\\begin{document}")
    start = begin + len("\\begin{document}") if begin >= 0 else 0
    end = text.rfind("\\end{document}")
    if end > start:
        yield end, len(text), _PARAGRAPH
    first = min((s.start for s in document.sections), default=end if end > start else len(text))
    if document.abstract_span is not None:
        yield 0, document.abstract_span[0], _PARAGRAPH
        start = document.abstract_span[1]
    elif (made := text.find("\\maketitle", start, first)) >= 0:
        start = made + len("\\maketitle")
    if start < first and len(_WORD.findall(plain(document, start, first))) < _FEWEST_WORDS:
        yield start, first, _PARAGRAPH
    if document.abstract_span is None:
        yield 0, start, _PARAGRAPH


@dataclass(frozen=True)
class _Run:
    """A fragment of running text, with its length and its start offsets in the joined text and in the source."""

    flat: int
    source: int
    length: int


def _flatten(document: Document) -> tuple[str, list[_Run]]:
    """Joins the running text, with a mark in place of each omission. Returns the text and its fragments."""
    parts: list[str] = []
    runs: list[_Run] = []
    at, flat, mark = 0, 0, _PARAGRAPH
    for start, end, kind in [*_cuts(document), (len(document.text), len(document.text) + 1, _PARAGRAPH)]:
        if start > at:
            parts += [mark, document.text[at:start]]
            flat += len(mark)
            runs.append(_Run(flat, at, start - at))
            flat += start - at
            mark = kind
        elif kind == _HEADING or (kind == _PARAGRAPH and mark != _HEADING) or mark == _GLUE:
            mark = kind
        at = max(at, end)
    return "".join(parts), runs


def _shadow(document: Document, flat: str, runs: list[_Run]) -> tuple[str, list[int]]:
    """Masks formulas, citations and addresses in a copy of `flat`, because their punctuation does not end a sentence.
    Returns the copy and the offsets of the displayed equations."""
    displays: list[int] = []
    chars = list(flat)
    starts = [run.source for run in runs]
    for equation in document.equations:
        i = bisect_right(starts, equation.start) - 1
        if i < 0 or equation.end > runs[i].source + runs[i].length:
            continue
        start = runs[i].flat + equation.start - runs[i].source
        end = start + equation.end - equation.start
        body = re.sub(r"\\(?:label|end)\{[^}]{0,400}+\}|\\nonumber|\\notag", "", equation.latex)
        chars[start:end] = "q" * (end - start - 1) + ("." if re.search(r"\.[\s}\\]*$", body) else "\x03")
        displays.append(start)
    shadow = "".join(chars)
    for pattern in _MASKED:
        shadow = pattern.sub(lambda match: "m" * len(match[0]), shadow)
    return shadow, displays


def _boundaries(shadow: str, *, lines: bool) -> list[tuple[int, bool]]:
    """Returns the offset of each sentence end, and whether a paragraph also ends there. If `lines` is True, every line
    is a paragraph."""
    out: dict[int, bool] = {}
    for match in _END.finditer(shadow):
        head = shadow[max(0, match.start() - 12) : match.start() + 1]
        if (
            match[0] == "."
            and re.search(r"\b[A-Z]{2,5}\.$", head)
            and re.match(r" m{3}", shadow[match.end() : match.end() + 4])
        ):
            continue  # Mathpix writes MLP.v as "MLP. $v$"
        if not (match[0].startswith(".") and _NOT_END.search(head)) and (
            match.end() >= len(shadow) or _STARTS.match(shadow, match.end())
        ):
            out[match.end()] = False
    breaks = re.compile(rf"{_BREAK.pattern}|\n") if lines else _BREAK
    for match in breaks.finditer(shadow):
        before = shadow[max(0, match.start() - 400) : match.start()].rstrip(_MARKS)[-1:]
        # A page break split a sentence if the second part starts in lower case. A formula may follow a colon.
        more = shadow[match.end() : match.end() + 3].lstrip(_MARKS)[:1]
        ended = before in (".!?" if more == "q" else ".!?:")
        if _SKIP.fullmatch(match[0]):
            starts = ended
        else:
            starts = ended or not match[0].isspace() or _STARTS.match(shadow, match.end()) is not None
        if starts:
            out[match.end()] = True
    return sorted(out.items())


def _spans(flat: str, runs: list[_Run], flats: list[int], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields the source spans of `flat[start:end]` without leading and trailing whitespace."""
    for run in runs[max(0, bisect_right(flats, start) - 1) : bisect_right(flats, end)]:
        lo, hi = max(start, run.flat), min(end, run.flat + run.length)
        piece = flat[lo:hi]
        body = piece.strip(_MARKS)
        if body:
            offset = run.source - run.flat + lo + len(piece) - len(piece.lstrip(_MARKS))
            yield offset, offset + len(body)


def sentences(document: Document) -> list[Sentence]:
    """Returns the sentences in the running text and the abstract, in order."""
    flat, runs = _flatten(document)
    shadow, displays = _shadow(document, flat, runs)
    flats = [run.flat for run in runs]
    out: list[Sentence] = []
    at, paragraph, first = 0, 0, True
    # Mathpix writes a paragraph as one long line and starts the next paragraph on a new line.
    lines = document.format == "markdown" and any(len(line) > 400 for line in document.text.split("\n"))
    for end, closes in [*_boundaries(shadow, lines=lines), (len(flat), True)]:
        spans = tuple(_spans(flat, runs, flats, at, end)) if end > at else ()
        if spans and (number := _NUMBER.match(document.text, *spans[0])):
            spans = ((number.end(), spans[0][1]), *spans[1:])
        if end - at > LONGEST:
            spans = ()
        read = {span: text for span in spans if (text := plain(document, *span))}
        spans, text = tuple(read), " ".join(read.values())
        if re.search(r"\w", text):
            i = bisect_right(displays, end) - 1
            out.append(Sentence(text, spans, paragraph, first, i >= 0 and displays[i] >= at))
            first = False
        at = end
        if closes:
            paragraph, first = paragraph + 1, True
    return out
