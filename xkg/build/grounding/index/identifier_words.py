"""Maps words in papers to names in code. Uses stems, acronyms and abbreviations.

For example, a paper says "initialization" and "Direct Preference Optimization", but its code says `init` and
`dpo_loss`. The rules describe how programmers generally shorten words, without a list of specific terms."""

import re
from collections.abc import Iterable
from functools import cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from xkg.fusion import split_identifier

_SEGMENT = re.compile(r"[^\W_]+")
_VOWELS = str.maketrans("", "", "aeiou")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Function words, and words that papers use for every technique, do not help to identify one.
_STOP = _set(
    """a about above after again all also although an and any are as at based be because been before being below between
    both but by can could did different do does doing during each either every first for from further given has have
    having hence here how however i if in into is it its itself just may might more most much must namely new no nor not
    novel of off often on once one only or other our out over own per propose proposed proposes rather same second
    section see several should show shown shows since so some such than that the their them then there these they this
    those three through thus to too towards two under until up upon us use used uses using various very via was we well
    were what when where which while who whom whose why will with within without would yet you your figure table eq
    equation paper work approach approaches method methods technique techniques algorithm algorithms framework
    frameworks procedure procedures strategy scheme step steps mechanism mechanisms called introduce"""
)


@cache
def _stemmer() -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.stemmer("English")).build()


@cache
def stem(word: str) -> str:
    """Stems a lower-case word with the English Snowball stemmer (Porter 2001). Leaves words of up to two letters
    unchanged."""
    tokens = _stemmer().analyze(word) if len(word) > 2 else []
    return tokens[0] if len(tokens) == 1 else word


@cache
def _segment_words(segment: str) -> tuple[str, ...]:
    # Splitting `BaM`, `LoRALayer`, `GPT2` or `BBox` at case changes and digits leaves fragments, which are rejoined.
    if not segment.isascii():
        return (segment.lower(),) if len(segment) > 1 else ()
    whole: list[str] = []
    crumbs = ""
    for piece in split_identifier(segment):
        if len(piece) < 3 and not (crumbs and len(crumbs) > 8):
            crumbs += piece
            continue
        if len(crumbs) == 1:
            whole.append(crumbs + piece)
        elif crumbs:
            whole.append(crumbs)
        whole.append(piece)
        crumbs = ""
    if crumbs:
        whole.append(whole[-1] + crumbs if whole and crumbs.isdigit() else crumbs)
    return tuple(word for word in whole if len(word) > 1 and not word.isdigit())


def words(text: str) -> list[str]:
    """Returns the lower-case words in identifiers or prose. Keeps mixed-case acronyms whole. Omits single letters and
    numbers."""
    return [word for segment in _SEGMENT.findall(text) for word in _segment_words(segment)]


def stems(text: str) -> list[str]:
    """Returns the stems of the words in `text`, in order."""
    return [stem(word) for word in words(text)]


def content_stems(text: str) -> list[str]:
    """Returns the stems of the words in `text` without stop words."""
    return [stem(word) for word in words(text) if word not in _STOP]


def initials(text: str) -> set[str]:
    """Returns the initials of a phrase, with and without stop words. For "batch and match", returns bm and bam.
    Requires two to six initials."""
    parts = [part.lower() for part in re.findall(r"[^\W\d_]+", text)]
    content = [part for part in parts if part not in _STOP]
    return {name for run in (parts, content) if 2 <= len(name := "".join(part[0] for part in run)) <= 6}


class Vocabulary:
    """Looks up words from a paper among the stems in a repository's names.

    Code often shortens a word to a prefix (`init`, `reg`, `patchify` for patchification) or to its consonants (`ctrl`).
    """

    def __init__(self, known: Iterable[str]) -> None:
        self.known = frozenset(known)
        self._by_start: dict[str, list[str]] = {}
        for word in sorted(self.known):
            self._by_start.setdefault(word[0], []).append(word)
        self._cache: dict[str, dict[str, float]] = {}

    def related(self, word: str) -> dict[str, float]:
        """Returns the repository's stems that may mean `word`. Each stem has a confidence, which is 1 for the word
        itself."""
        if word not in self._cache:
            self._cache[word] = {
                known: confidence
                for known in self._by_start.get(word[:1], ())
                if (confidence := _likeness(word, known)) > 0
            }
        return self._cache[word]


def _likeness(word: str, known: str) -> float:
    if word == known:
        return 1.0
    short, long = sorted((word, known), key=len)
    if long.startswith(short):
        # `reg` means regular, but `in` or `re` could mean anything. Code rarely uses a longer form of a word in the
        # paper.
        if len(short) >= 5:
            return 0.85
        if len(short) >= 3 and short == known:
            return 0.7 if len(short) == 4 else 0.55
        return 0.0
    if 3 <= len(known) < len(word) and known.translate(_VOWELS) == known and _is_subsequence(known, word):
        return 0.5
    shared = _shared_prefix(word, known)
    return 0.8 if shared >= 6 and max(len(word), len(known)) - shared <= 2 else 0.0


def _is_subsequence(letters: str, word: str) -> bool:
    rest = iter(word)
    return all(letter in rest for letter in letters)


def _shared_prefix(a: str, b: str) -> int:
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        n += 1
    return n
