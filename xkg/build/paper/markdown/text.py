"""Converts Markdown, including Mathpix output, to readable text. Joins text across column breaks and removes floats."""

import re
from html import unescape

from xkg.build.paper.document import Document
from xkg.build.paper.headings import repeats_title
from xkg.build.paper.latex.tex.formulas import math
from xkg.build.paper.latex.tex.macros import expand
from xkg.build.paper.latex.tex.text import latex_text
from xkg.build.paper.latex.tex.tokens import outside
from xkg.build.paper.markdown.blocks import is_mathpix, regions

_MATH = re.compile(
    r"\$\$[^$]{1,5000}+\$\$|\$(?!\s*\d+[^$\n]{0,40}\s\$)[^$\n]{1,2000}+\$"
    r"|\\\((?:[^\\\n]|\\[^()\n]){1,2000}+\\\)|\\\[(?:[^\\\n]|\\[^\[\]\n]){1,5000}+\\\]"
)
_MARKUP = re.compile(r"[$\\*_`\[\]<>(~{}@&]|-\n|\s[,.;:!?]")
_MARKER = re.compile(r"^\$\s*\{\s*\}\^\{[^{}$]*(?:\{[^{}$]*\}[^{}$]*)*\}\s*\$$")
_IMAGE = re.compile(r"!\[[^\]\n]{0,500}\]\([^)\n]{0,1000}\)(?:\{[^}\n]{0,100}\})?")
_LINK = re.compile(r"\[([^\]\n]{1,300}+)\]\((?:[^()\n]|\([^()\n]{0,200}+\)){0,1000}+\)")
ATTRIBUTES = re.compile(r"(?:^|(?<=[\])$ \t]))\{(?:[#.:][a-zA-Z][^{}\n]{0,200}|-)\}")
"""Pandoc attributes on headings, formulas and pictures."""
_CROSS_REFERENCE = re.compile(r"@(fig|sec|eq|tbl|lst)[:-]([\w-]{1,60})")
_NUMBERS = re.compile(
    r"[ \t]?\[\^?\d{1,3}(?:\s*[,;–-]\s*\d{1,3}){0,40}\]|\[\^[^\]\n]{1,40}\]|[ \t]?\[@[^\]\n]{1,300}\]"
)
_BREAK = re.compile(r"(?i)<br\s?/?>")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>")
_PARENTHESES = re.compile(r"\s?\(([^()\n]{4,800})\)")
_CITATION_PART = re.compile(r"^(?:.*\D)?(?:19|20)\d\d[a-z]?(?:[,;]\s*(?:(?:19|20)\d\d)?[a-z]?)*$", re.DOTALL)
_CITATION_FIRST = re.compile(
    r"^(?:(?:see|e\.g\.|i\.e\.|cf\.|also|and|as in|in)[,:]?\s+)*"
    r"(?:[A-ZÀ-ÖØ-Þ’'\"]|[a-z]{2,4} [A-Z]|[\w’'-]{1,40} et al|(?:19|20)\d\d|\\)"
)
_MARKS = re.compile(
    r"\*\*\*?|(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*])|(?<!\w)__?(?=[^\s_])|(?<=[^\s_])__?(?!\w)|`+|~~"
)
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!&%$~|<>])")
_HEADING = re.compile(r"^\\((?:sub){0,2}section|(?:sub)?paragraph)\*?(?=\{)|^ {0,3}#{1,6}[ \t]+", re.MULTILINE)
_LIST = re.compile(r"^[ \t]*(?:[-*+]|\d{1,2}[.)])[ \t]+")
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_OPEN_END = re.compile(r"[\w,;)\]$’'%-]$")
_HYPHEN = re.compile(r"([^\W\d_]{2,})-$")
_WORD = re.compile(r"[^\W\d_]{2,}")
_HYPHENATED = re.compile(r"(?<![^\W\d_])[^\W\d_]++-[^\W\d_]+")
_BROKEN_COMPOUND = re.compile(r"[^\W_]-$")
_BEFORE_STOP = re.compile(r"(?<![ \t])[ \t]++(?=[,.;:!?](?!\d))")


def readable_markdown(document: Document, start: int, end: int) -> str:
    """Converts part of a Markdown document to readable text. Implements `plain` for Markdown."""
    spans = [(max(a.start, start) - start, min(a.end, end) - start) for a in document.algorithms]
    cut = [(first, last) for first, last in spans if first < last and last - first < end - start]
    text = outside(document.text[start:end], cut, "\n\n")
    if document.macros:
        text = expand(text, document.macros, document.macro_defaults)
    return markdown_text(text, mathpix=is_mathpix(document.text), running_head=document.title)


def markdown_text(text: str, *, mathpix: bool, running_head: str = "") -> str:
    """Returns readable text as paragraphs separated by blank lines, and joins interrupted sentences. Removes code,
    algorithms, tables, figures, captions, footnotes and headings that repeat `running_head`."""
    pieces: list[str] = []
    at = 0
    for region in regions(text, mathpix=mathpix):
        pieces.append(text[at : region.start])
        if region.kind == "math":
            pieces.append(f"${math(text[region.body_start : region.body_end])}$")
        else:
            pieces.append("\n\n")
        at = region.end
    pieces.append(text[at:])
    return _joined(_paragraphs("".join(pieces), mathpix, running_head), text)


def _paragraphs(text: str, mathpix: bool, running_head: str) -> list[str]:
    paragraphs: list[str] = []
    for block in re.split(r"\n[ \t]*\n\s*", _QUOTE.sub("", text)):
        current: list[str] = []
        for line in block.split("\n"):
            heading = _HEADING.match(line)
            if heading or _LIST.match(line):
                paragraphs.append("\n".join(current))
                current = []
            if heading:
                title = line[heading.end() :].strip()
                title = (
                    title[1:].rpartition("}")[0] or title.strip("{}") if line.lstrip()[0] == "\\" else title.strip("# ")
                )
                if not repeats_title(title, running_head):
                    paragraphs += ["", title, ""]
                continue
            if line.startswith(":::") or re.fullmatch(r"\s{0,3}(?:=+|-{3,}|\*{3,}|_{3,})\s*", line):
                continue
            current.append(_LIST.sub("", line) if not mathpix or line.lstrip()[:1] in "-*+" else line)
        paragraphs.append("\n".join(current))
    return [inline(part, mathpix=mathpix) if part.strip() else "" for part in paragraphs]


def inline(text: str, *, mathpix: bool) -> str:
    """Returns one paragraph as readable text, with formulas as `$math$`. Removes markup, links, citations and footnote
    marks."""
    if not _MARKUP.search(text):
        return " ".join(text.split())
    out: list[str] = []
    at = 0
    for match in _MATH.finditer(text):
        out.append(text[at : match.start()])
        out.append("" if _MARKER.match(match.group()) else "\x02" + _formula(match.group()) + "\x03")
        at = match.end()
    out.append(text[at:])
    parts = re.split(r"(\x02[^\x02\x03]*\x03)", _without_citations("".join(out)))
    for index in range(0, len(parts), 2):
        parts[index] = _words(parts[index], mathpix)
        parts[index] = re.sub(r"\(\s*\)|\[\s*\]", "", _BEFORE_STOP.sub("", parts[index]))
    for index in range(1, len(parts), 2):
        parts[index] = parts[index][1:-1]
    return " ".join("".join(parts).split())


def _formula(source: str) -> str:
    body = source[2:-2] if source.startswith(("$$", "\\")) else source[1:-1]
    return f"${math(body)}$"


def _words(text: str, mathpix: bool) -> str:
    lead, trail = text[:1].isspace(), text[-1:].isspace()
    text = _LINK.sub(r"\1", _IMAGE.sub("", text))
    text = ATTRIBUTES.sub("", _CROSS_REFERENCE.sub(r"\1. \2", text))
    text = _TAG.sub("", _BREAK.sub(" ", _NUMBERS.sub("", text)))
    if mathpix and re.search(r"\\[a-zA-Z'`\"^~=.&%$#_]", text):
        text = latex_text(text).replace("\n\n", "\n")
    text = unescape(_ESCAPE.sub(r"\1", _MARKS.sub("", text)))
    text = _dehyphenated(text)
    return (" " if lead else "") + text.strip() + (" " if trail and text.strip() else "")


def _dehyphenated(text: str) -> str:
    return re.sub(r"(?<=[^\W\d_]{2})-\n\s*+(?=[a-zà-ÿ]{2})", "", text)


def _without_citations(text: str) -> str:
    def drop(match: re.Match[str]) -> str:
        inner = match[1].strip()
        if not re.search(r"(?:19|20)\d\d", inner) or not _CITATION_FIRST.match(inner):
            return match.group()
        parts = [part.strip() for part in inner.split(";")]
        dated = sum(1 for part in parts if _CITATION_PART.match(part))
        return "" if dated * 2 >= len(parts) and dated else match.group()

    return _PARENTHESES.sub(drop, text)


def _joined(paragraphs: list[str], source: str) -> str:
    """Joins sentences split at the end of a page or column. Removes a hyphen at the split unless the paper hyphenates
    the word elsewhere."""
    out: list[list[str]] = []
    hyphenated: set[str] | None = None
    for index, part in enumerate(paragraphs):
        if not part:
            continue
        before = out[-1][-1][-80:] if out else ""
        is_title = 0 < index < len(paragraphs) - 1 and not paragraphs[index - 1] and not paragraphs[index + 1]
        if not before or is_title:
            out.append([part])
        elif _BROKEN_COMPOUND.search(before) and part[0].isupper():
            out[-1].append(part)
        elif part[0].islower() and _OPEN_END.search(before):
            hyphen, word = _HYPHEN.search(before), _WORD.match(part)
            if hyphen and word:
                hyphenated = set(_HYPHENATED.findall(source)) if hyphenated is None else hyphenated
                if f"{hyphen[1]}-{word.group()}" not in hyphenated:
                    out[-1][-1] = out[-1][-1][:-1]
                out[-1].append(part)
            else:
                out[-1] += [" ", part]
        else:
            out.append([part])
    return "\n\n".join("".join(pieces) for pieces in out)
