r"""Measures how much of a paper's LaTeX source is found when the same paper is parsed from another format.

Shares are fractions of the source's items, which must be found in order:

- references: the titles are equal (or, if the source has no title, the words), and each reference is matched only once;
  `extra` is the share of parsed references that are not in the source;
- sentences: nine out of ten words occur in the same order in one passage of the running text (including run-in heads),
  and the passages are in the same order; addresses, citations and words next to a formula are not compared;
- sections (without run-in heads) and captions.
"""

import re
import sys
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

from xkg.build.paper.document import Document
from xkg.build.paper.latex.document import readable_latex
from xkg.build.paper.latex.tex.tokens import Tex
from xkg.build.paper.sentences import sentences
from xkg.errors import XkgError
from xkg.model import Reference

_SHORTEST = 5  # minimum words in a sentence or caption that is compared
# Matches citations and references, which each format prints differently.
# Bracketed citations come first, since they may contain citations in other formats.
_NAME = r"[^\W\d_][\w'’-]{1,30}"
_CITED_BY = rf"(?:{_NAME}\s(?:(?:and|&)\s{_NAME}|et\sal\.,?)\s|[^\W\d_a-z][\w'’-]{{1,30}}\s)?"
_BRACKETED = re.compile(rf"{_CITED_BY}(?:\[[\d,;\s–-]{{1,60}}\]|\[[^\]\s]{{3,80}}(?:,\s?[^\]\s]{{3,80}})*\])")
_DATED = re.compile(rf"{_CITED_BY}\([^()]{{0,300}}\b(?:19|20)\d\d[a-z]?[^()]{{0,100}}\)")
_TO_PARTS = re.compile(
    r"(?i:\b(?:algorithm|appendix|assumption|chapter|corollary|definition|eqn?|equation|example|fig|figure|lemma|line|part|"
    r"problem|proposition|remark|sec|section|table|tab|theorem|step)s?\b\.?(?=[\s(§]{1,3}[A-Z]?[\d.]|\s?\(+\s*\)))"
)
_CLAUSE = re.compile(r"\b[a-z]{2,}(?:\s[a-z]{2,}){3,}")
_URL = re.compile(r"(?:https?://|www\.|doi\.org/)\S{1,300}")
_MATH = re.compile(r"\$[^$]{0,5000}\$")
# Matches a formula together with adjacent characters, since "$n$-dimensional" is printed as one word.
_IN_WORD = re.compile(r"[\w-]{0,30}\$[^$]{0,5000}\$[\w-]{0,30}")
_WORD = re.compile(r"[^\W\d_]{4,}")  # shorter words may be mathematical operators: log, min, det
_CAPTION = re.compile(r"^(?:Figure|Fig\.|Table|Tab\.)\s*[\w.]{1,6}\s?[.:|]?\s([^\n]*)$", re.MULTILINE)
_ADDRESS = re.compile(r"(?:https?:|www\.)")


class NotConvertedError(Exception):
    """Raised if the source could not be converted to the other format."""


@dataclass(frozen=True)
class Share:
    """A share: `found` out of `of` items were found."""

    found: int
    of: int

    def __add__(self, other: "Share") -> "Share":
        return Share(self.found + other.found, self.of + other.of)

    def __str__(self) -> str:
        return f"{self.found / self.of:.3f} ({self.of})" if self.of else "- (0)"


def measures(source: Document, read: Document, printed: str = "") -> dict[str, Share]:
    """Returns the shares of `source` that are in `read`. `printed` is all the text that TeX printed, in any order.
    Sentences and captions that TeX did not print, such as comments to authors, are not expected."""
    shown = Printed(printed)
    found, extra = _references(source.references, read.references)
    return {
        "references": found,
        "extra": extra,
        "sentences": _sentences(source, read, shown),
        "sections": _sections(source, read),
        "captions": _captions(source, read, shown),
    }


def _letters(text: str) -> str:
    plain = unicodedata.normalize("NFKD", _MATH.sub("", text)).lower()
    return "".join(c for c in plain if c.isascii() and c.isalnum())


def _words(text: str) -> list[str]:
    bare = unicodedata.normalize("NFKD", _MATH.sub(" ", text).replace("-", ""))
    return [w.lower() for w in _WORD.findall("".join(c for c in bare if not unicodedata.combining(c)))]


def _references(source: Sequence[Reference], read: Sequence[Reference]) -> tuple[Share, Share]:
    left = list(read)
    found = 0
    for reference in source:
        match = next((other for other in left if _same_reference(reference, other)), None)
        if match is not None:
            left.remove(match)
            found += 1
    return Share(found, len(source)), Share(len(left), len(read))


def _same_reference(a: Reference, b: Reference) -> bool:
    one_title, other_title = (_letters(r.title or "") if not _ADDRESS.match(r.title or "") else "" for r in (a, b))
    if _MATH.search(a.title or ""):  # the other format may print formulas with different letters
        return set(_words(a.title or "")) <= set(_words(b.title or ""))
    if one_title or other_title:
        return one_title == other_title
    one, other = set(_words(a.text or "")), set(_words(b.text or ""))
    return len(one & other) >= 0.8 * max(1, len(one | other))


def _without_citations(text: str) -> str:
    bare = _BRACKETED.sub(" ", _URL.sub(" ", text))
    bare = _DATED.sub(lambda match: match[0] if _CLAUSE.search(match[0]) else " ", bare)
    return _TO_PARTS.sub(" ", bare)


def sentence_words(text: str) -> list[str]:
    """Returns the words of a sentence, without the parts that are not compared."""
    return _words(_IN_WORD.sub(" ", _without_citations(text)))


def _running(read: Document) -> Iterator[str]:
    heads = [(s.start, s.title) for s in read.walk() if s.level == 4]
    text = [(sentence.start, sentence.text) for sentence in sentences(read)]
    for _, words in sorted([*heads, *text]):
        yield from sentence_words(words)


def _sentences(source: Document, read: Document, shown: "Printed") -> Share:
    text = Stretches(list(_running(read)))
    places, last = [], 0
    for sentence in sentences(source):
        words = sentence_words(sentence.text)
        if len(words) < _SHORTEST or not shown.has(words):
            continue
        place = text.find(words, after=last)
        last = last if place is None else place
        places.append(place)
    return Share(ascending(place for place in places if place is not None), len(places))


class Printed:
    """Checks whether a sentence was printed, at least in part."""

    def __init__(self, text: str) -> None:
        words = _words(text)
        self._pairs = set(pairwise(words))

    def has(self, words: Sequence[str]) -> bool:
        """Returns whether at least a third of the pairs of adjacent words were printed. Formulas and line breaks may
        separate the words of the other pairs."""
        pairs = list(pairwise(words))
        return not self._pairs or sum(pair in self._pairs for pair in pairs) * 3 >= len(pairs)


class Stretches:
    """Finds stretches of words in a long text."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._at: dict[tuple[str, ...], list[int]] = {}
        for index in range(len(words) - 1):
            self._at.setdefault(tuple(words[index : index + 2]), []).append(index)

    def find(self, words: Sequence[str], after: int = 0) -> int | None:
        """Returns the position where nine out of ten of these words occur in order, or None. Gaps must be no longer
        than a citation. If several positions qualify, returns the one nearest to `after`."""
        votes: Counter[int] = Counter()
        for index in range(len(words) - 1):
            for place in self._at.get(tuple(words[index : index + 2]), ())[:200]:
                votes[place - index] += 1
        found = []
        for start, _ in votes.most_common(8):
            first = max(0, start - 3)
            stretch = self._words[first : start + int(1.3 * len(words)) + 8]
            blocks = SequenceMatcher(None, words, stretch, autojunk=False).get_matching_blocks()
            if sum(block.size for block in blocks) >= 0.9 * len(words):
                found.append(first + blocks[0].b - blocks[0].a)
        return min(found, key=lambda place: abs(place - after), default=None)


def ascending(places: Iterable[int]) -> int:
    """Returns the length of the longest non-descending subsequence of `places`."""
    ends: list[int] = []
    for place in places:
        index = bisect_left(ends, place + 1)
        ends[index : index + 1] = [place]
    return len(ends)


def _sections(source: Document, read: Document) -> Share:
    def titles(document: Document) -> list[str]:
        heads = [(s.title, s.level) for s in document.walk() if s.level < 4]
        found = [_letters(t) for t, _ in heads if not re.match(r"(?i)references$|bibliography$|abstract$", t)]
        return [title for title in found if title]

    # A title in the source may end with "Proof of", which TeX prints with a theorem number.
    wanted, lengths = titles(source), [0]
    given = titles(read)
    lengths *= len(given) + 1
    for title in wanted:
        row = [0]
        for index, other in enumerate(given):
            same = title == other or (len(title) > 4 and other.startswith(title))
            row.append(max(lengths[index] + same, lengths[index + 1], row[-1]))
        lengths = row
    return Share(lengths[-1], len(wanted))


def _captions(source: Document, read: Document, shown: Printed) -> Share:
    tex, left, found, of = Tex(source.text), [sentence_words(m[1]) for m in _CAPTION.finditer(read.text)], 0, 0
    for match in re.finditer(r"\\caption\*?(?=\s*[\[{])", source.text):
        group = tex.group(tex.skip_options(match.end()))
        if group is None or re.search(r"(?s)\\begin\{algorithm[^}]*\}(?:(?!\\end\{algorithm).)*\Z",
                                      source.text[max(0, match.start() - 3000) : match.start()]):  # fmt: skip
            continue
        words = sentence_words(readable_latex(source, group.start, group.end))
        if len(words) < _SHORTEST or not shown.has(words):
            continue
        of += 1
        same = next((c for c in left if Stretches(c).find(words) is not None), None)
        if same is not None:
            left.remove(same)
            found += 1
    return Share(found, of)


def compare_all(compare: Callable[[Path], dict[str, Share]], folders: Sequence[Path]) -> int:
    """Prints the shares for each folder and their sums. Returns the exit status."""
    total: dict[str, Share] = {}
    for folder in folders:
        try:
            shares = compare(folder)
        except (NotConvertedError, XkgError) as error:
            print(f"{folder.name}: not compared: {error}", file=sys.stderr)
            continue
        print(folder.name + "".join(f"  {name} {share}" for name, share in shares.items()), flush=True)
        total = {name: total.get(name, Share(0, 0)) + share for name, share in shares.items()}
    print("all" + "".join(f"  {name} {share}" for name, share in total.items()))
    return 0 if total else 1
