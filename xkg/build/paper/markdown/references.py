"""Parses the references in a Markdown paper. They are list items or paragraphs under "References", and page
and column breaks may split or reorder them."""

import re

from xkg.build.paper.latex.tex.tokens import outside
from xkg.build.paper.markdown.blocks import regions
from xkg.build.paper.markdown.text import inline
from xkg.build.paper.reference_text import reference_from_text
from xkg.model import Reference

_NUMBERED = re.compile(r"\s*+(?:\[\^?[\w+.:’'& -]{1,40}\]|\(?\d{1,3}[.)]\s|[-*+•]\s)")
_AUTHOR = re.compile(
    r"[^\W\d_][\w'’`\- ]{0,40}, (?:[A-Z][^\W\d_]?\.|[A-Z]\w+)"
    r"|[A-Z][\w'’\-]+(?: [A-Z]\.?)*(?: [A-Z][\w'’\-]+)+(?:,| and )"
)
_FINISHED = re.compile(r"(?:[.)\]/”\"]|\d[a-z]?)$")
_ADDRESS = re.compile(r"https?:\S")
_PUBLISHER = re.compile(
    r"(?:Association for|Springer|PMLR|Curran|IEEE|ACM|Elsevier|Cambridge|Oxford|MIT Press|AAAI|OpenReview|URL|doi|"
    r"https?:|pp\.|In [A-Z]|arXiv|Available|Accessed|Proceedings)"
)
_MOST = 5000
_LONGEST = 8000


def markdown_references(text: str, start: int, end: int, mathpix: bool) -> list[Reference]:
    """Returns the references between two offsets, in order. A new entry begins only once the previous one is
    complete."""
    entries: list[str] = []
    body = text[start:end]
    for block in _blocks(body, mathpix):
        for index, line in enumerate(block):
            before = entries[-1][-_LONGEST:] if entries else ""
            if entries and _continues(before, line, index > 0, mathpix, _NUMBERED.match(entries[0]) is not None):
                if len(before) == _LONGEST:
                    continue  # no reference is this long, so further lines are ignored
                joined = entries[-1].rstrip()
                if joined.endswith("-") and line[:1].islower():
                    entries[-1] = joined[:-1] + line
                else:
                    entries[-1] = f"{joined} {line}"
            else:
                entries.append(line)
    readable = (_readable(entry, mathpix) for entry in entries[:_MOST])
    return [reference_from_text(entry) for entry in readable if len(entry) > 15 and not entry.isupper()]


def _blocks(body: str, mathpix: bool) -> list[list[str]]:
    text = outside(body, ((region.start, region.end) for region in regions(body, mathpix=mathpix)), "\n\n")
    blocks = re.split(r"\n[ \t]*\n\s*", text)
    lines = [[line.strip() for line in block.split("\n") if line.strip()] for block in blocks]
    return [[line for line in block if not line.startswith(("\\section", "\\subsection"))] for block in lines]


def _continues(before: str, line: str, same_block: bool, mathpix: bool, is_numbered: bool) -> bool:
    if is_numbered:
        return _NUMBERED.match(line) is None
    if same_block and not mathpix:
        return not (_AUTHOR.match(line) and before.rstrip().endswith(".") and len(before) > 60)
    if not _is_finished(before.rstrip()) or _PUBLISHER.match(line):
        return True
    if not re.search(r"(?:1[89]|20)\d\d", before) and not _AUTHOR.match(line):
        return True
    return not (_AUTHOR.match(line) or re.match(r"[A-Z][\w-]+(?: [\w-]+){0,3}\. ", line)) and (
        line[:1].islower() or len(line) < 40
    )


def _is_finished(text: str) -> bool:
    """Returns whether a reference may end after this text. Such a text ends with a full stop, bracket, number or web
    address."""
    return bool(_FINISHED.search(text[-2:]) or _ADDRESS.search("".join(text.rsplit(None, 1)[-1:])))


def _readable(entry: str, mathpix: bool) -> str:
    """Restores italics and numbers that Mathpix converted to formulas, as in `$C V P R, 2023$` and `$10.18653 /
    \\mathrm{v} 1$`."""

    def words(match: re.Match[str]) -> str:
        inner = re.sub(r"\\(?:mathrm|text|mathbf|mathit|operatorname)\s*\{([^{}]*)\}", r"\1", match[1])
        inner = re.sub(r"\\[,;!:]|~", " ", inner).replace("{", "").replace("}", "")
        if re.match(r"\s*10\.\d{4}", inner):
            return re.sub(r"\s+", "", inner)
        if re.match(r"(?:\s*[A-Z]\b)+", inner) and "," not in inner.split()[0]:
            return re.sub(r"(?<=\b[A-Z])\s+(?=[A-Z]\b)", "", inner)
        return inner if "\\" not in inner else match.group()

    plain = re.sub(r"\$([^$\n]{1,200})\$", words, entry)
    return inline_reference(plain, mathpix)


def inline_reference(entry: str, mathpix: bool) -> str:
    """Works like `inline`, but keeps years in parentheses, which are not citations in a reference."""
    marked = re.sub(r"\(((?:1[89]|20)\d\d[a-z]?(?:, [A-Z][a-z]+(?: \d+)?)?)\)", "\x04\\1\x05", entry)
    numbers = re.match(r"\s*\[[^\]]{1,40}\]\s*", marked)
    marked = marked[numbers.end() :] if numbers else marked
    return inline(marked, mathpix=mathpix).replace("\x04", "(").replace("\x05", ")")
