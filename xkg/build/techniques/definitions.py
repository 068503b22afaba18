"""Prepares a paper for extraction. Chooses the sentences that define a technique."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from xkg.build.paper.document import Document
from xkg.build.paper.sentences import Sentence
from xkg.build.paper.sentences import sentences as prose
from xkg.build.techniques.introduced import Term, terms
from xkg.build.techniques.names import key, stem, words
from xkg.build.techniques.section_roles import Part, Role, outline
from xkg.model import Excerpt

MAX_SENTENCES = 4
MAX_CHARS = 700
_OPENING = 5  # how many sentences before the first heading count as the abstract
_LEAST_WORDS = 3  # labels such as "Algorithm." define nothing
_REFERENCE = re.compile(r"\\(?:auto|[cC]|eq|page|name|v)?ref\b")

# Matches poor definitions, that is, sentences that need their context, state a result, or report others' work or
# opinions.
_TRANSITION = re.compile(
    r"(?:however|but|moreover|furthermore|in contrast|unlike|although|though|therefore|thus|hence|consequently|"
    r"similarly|likewise|besides|as a result|otherwise|yet|still|recall|note|as (?:mentioned|discussed|noted|shown)|"
    r"for (?:example|instance)|additionally|in (?:addition|other words|this (?:section|appendix|subsection))|this|"
    r"these|those|that|they|it|such|its|their|and|or|also|given (?:this|these)|intuitively|finally|next|then|here|"
    r"lastly|interestingly|importantly|alternatively|specifically|concretely|we (?:now|next|then|also|finally))\b",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(
    r"(?:an? (?:growing|large|recent|rich|long) (?:line|body|number|amount|history) of|(?:prior|previous|recent|"
    r"several|existing|earlier|many|some|other|most) (?:\w+ )?(?:works?|studies|methods|approaches|papers|authors|"
    r"literature))\b"
    r"|(?:\w+, )?we (?:\w+ly )?(?:view|interpret|believe|argue|hypothesi[sz]e|conjecture|hope|expect)\b",
    re.IGNORECASE,
)
_POINTER = re.compile(
    r"\b(?:Fig(?:ure|\.)|Table|Tab\.|Section|Sec\.|Appendix)s?\s*[A-Z]?\d|\bin (?:the )?(?:next|following|previous) "
    r"section|\bthis section\b|\bwe (?:now |next |first )?(?:describe|discuss|review)\b"
)
_RESULT = re.compile(
    r"\b(?:outperform\w*|accuracy|baselines?|state-of-the-art|experiments?|results|we (?:find|found|observe|show that|"
    r"demonstrate|compare|evaluate|prove)|\d+(?:\.\d+)?\s*%|improvements?|datasets?)\b",
    re.IGNORECASE,
)
_DOES = re.compile(
    r"\b(?:we (?:\w+ )?(?!(?:find|show|observe|compare|note|prove)\b)[a-z]{3,}|(?:is|are) (?:\w+ )?(?:\w{3,}ed|"
    r"given by|drawn|built|set))\b",
    re.IGNORECASE,
)
_WEIGHTS = {Role.ABSTRACT: 1.5, Role.INTRODUCTION: 1.0, Role.METHOD: 1.0, Role.APPLICATION: 0.5, Role.BACK: -4.0}
_GOES_ON = re.compile(
    r"(?:it|this|these|they|specifically|in particular|concretely|namely|"
    r"our (?:main |key )?(?:idea|approach|method))\b",
    re.IGNORECASE,
)
# These patterns match sentences in which the name has been replaced by \x10.
_SUBJECT = re.compile(r"^(?:(?:the|our|an?|this|each)\s+)?(?:[\w-]+\s+){0,2}?\x10(?:\s*\([^)]*\))?\s+[a-z]+s?\b", re.I)
_NAMED = re.compile(
    r"\b(?:propose|introduce|present|develop|define|use|apply|call(?:ed)?|term(?:ed)?|named?|dub(?:bed)?|known as|"
    r"refer\w* to as)s?\s+(?:\S+\s+){0,5}?\x10|\x10[^.]{0,140}\b(?:is|are) (?:defined|given|computed)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Reader:
    """A paper prepared for extraction. `part_of` contains the part to which each sentence belongs. `part_of` is None
    for sentences before the first part."""

    document: Document
    sentences: Sequence[Sentence]
    part_of: Sequence[Part | None]

    @cached_property
    def _stems(self) -> list[frozenset[str]]:
        return [frozenset(map(stem, words(s.text))) for s in self.sentences]

    def stems(self, i: int) -> frozenset[str]:
        """Returns the stems of the words in a sentence."""
        return self._stems[i]

    @cached_property
    def _having(self) -> dict[str, set[int]]:
        out: dict[str, set[int]] = {}
        for i, stems in enumerate(self._stems):
            for each in stems:
                out.setdefault(each, set()).add(i)
        return out

    def having(self, stems: Sequence[str]) -> set[int]:
        """Returns the sentences that contain all these stems. Returns no sentences if there are no stems."""
        found = sorted((self._having.get(each, set()) for each in stems), key=len)
        return set.intersection(*found) if found else set()

    @cached_property
    def terms(self) -> list[tuple[Term, ...]]:
        """Returns the names that each sentence introduces."""
        return [tuple(terms(s.text)) for s in self.sentences]

    def role(self, i: int) -> Role:
        part = self.part_of[i]
        if part is not None:
            return part.role
        return Role.ABSTRACT if i < _OPENING else Role.METHOD

    def references(self, i: int) -> int:
        """Counts the cross-references in a sentence. Each cross-reference leaves a gap in the readable text."""
        sentence = self.sentences[i]
        return len(_REFERENCE.findall(self.document.text, sentence.start, sentence.end))

    def excerpts(self, indices: Sequence[int]) -> tuple[Excerpt, ...]:
        """Returns the spans of these sentences as excerpts."""
        return tuple(
            excerpt_of(self.document, self.part_of[i], *span) for i in indices for span in self.sentences[i].spans
        )

    def text(self, indices: Sequence[int]) -> str:
        return " ".join(self.sentences[i].text for i in indices)


def read(document: Document) -> tuple[Reader, tuple[Part, ...]]:
    """Splits a paper into sentences and parts."""
    sentences = prose(document)
    parts = outline(document, sentences)
    part_of = {i: p for part in parts for p in part.walk() for i in p.sentences}
    return Reader(document, sentences, [part_of.get(i) for i in range(len(sentences))]), parts


def excerpt_of(document: Document, part: Part | None, start: int, end: int) -> Excerpt:
    """Returns the excerpt between two offsets in a part."""
    path, line = document.place(start) or (None, None)
    return Excerpt(section=part.title if part else "", start=start, end=end, path=path, line=line)


@lru_cache(maxsize=256)
def pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Returns a pattern that matches any of the names. Ignores case, hyphens and plurals. Abbreviations must match
    exactly."""
    out = []
    for name in names:
        parts = re.findall(r"[^\W_]+", name)
        if not parts:
            continue
        if len(parts) == 1 and sum(c.isupper() for c in name) >= 2:
            out.append(re.escape(parts[0]))
        else:
            singular = [re.escape(p if len(p) < 4 else re.sub(r"(?<=[^s])s$", "", p)) for p in parts]
            joined = r"s?(?:\s?\([\w+-]{1,12}\))?[\s\-–/.'’]{1,3}".join(singular)
            out.append(rf"(?i:{joined}s?)")
    return re.compile(rf"(?<![\w])(?:{'|'.join(out) or '(?!)'})(?![\w])")


def mentions(names: Sequence[str], reader: Reader) -> list[int]:
    """Returns the indices of the sentences that contain any of the names."""
    near: set[int] = set()
    for name in names:
        near |= reader.having([stem(w) for w in words(name)])
    found = pattern(tuple(names))
    return [i for i in sorted(near) if found.search(reader.sentences[i].text)]


def _alone(text: str) -> float:
    """Scores how well a sentence defines something without its context. The score is at most 0."""
    count = len(text.split())
    score = -4.0 * bool(_TRANSITION.match(text)) - 8.0 * bool(_OF_OTHERS.match(text)) - 5.0 * ("?" in text)
    score -= 3.0 * min(2, len(_POINTER.findall(text))) + 4.0 * (count < 6) + max(0, count - 60) / 20
    score -= 2.0 * bool(_RESULT.search(text)) + 1.5 * text.startswith("$")
    return score - 3.0 * bool(re.search(r"[\w,;:]$", text) or not re.match(r"[A-Z\d$(\"“'`]", text))


def choose(
    reader: Reader, names: Sequence[str], own: Sequence[int], naming: Sequence[int] = (), used: Collection[int] = ()
) -> list[int]:
    """Returns the indices of one to four sentences that together define the technique with these `names`. Returns an
    empty list if no sentence defines the technique.

    `own` contains the sentences under the technique's heading, and `naming` contains the sentences that name the
    technique. `used` contains the sentences that already define another technique. The definition is the text of the
    returned sentences, joined by spaces."""
    found = pattern(tuple(names))
    stems = set(key(names[0]))
    rank = {i: n for n, i in enumerate(own)}
    scores: dict[int, float] = {}
    for i in sorted({*own, *naming, *mentions(names, reader)}):
        sentence = reader.sentences[i]
        marked = found.sub("\x10", sentence.text)
        if not re.search(r"[^\W\d_]{2}", sentence.text) or len(sentence.text.split()) < _LEAST_WORDS:
            continue
        weight = _WEIGHTS.get(reader.role(i), -2.0)
        score = _alone(sentence.text) + (max(weight, 0.0) if i in rank else weight)
        score += 5.0 if _SUBJECT.match(marked) else 4.5 if _NAMED.search(marked) else 1.5 * ("\x10" in marked)
        if i in rank:
            overlap = len(stems & reader.stems(i)) / max(1, len(stems))
            score += 3 + 2 * overlap + max(0.0, 1.5 - 0.5 * rank[i]) - 0.1 * min(10, rank[i])
            score += 1.5 * bool(_DOES.search(sentence.text)) + 0.5 * sentence.display
        score += 2.5 * (i in naming) - 2.5 * sentence.broken - 2.5 * (i in used) - 2 * min(2, reader.references(i))
        scores[i] = score
    # Keep even poor sentences from the technique's own section, but no brief mentions from elsewhere.
    scores = {i: score for i, score in scores.items() if score >= 0 or i in rank or i in naming}
    return _followed(reader, max(scores, key=lambda i: (scores[i], -i)), found) if scores else []


def _followed(reader: Reader, best: int, found: re.Pattern[str]) -> list[int]:
    """Returns a sentence together with the sentences that continue it in the same paragraph."""
    chosen = [best]
    for at in range(best + 1, min(best + MAX_SENTENCES, len(reader.sentences))):
        following = reader.sentences[at]
        text = following.text
        if (
            following.paragraph != reader.sentences[best].paragraph
            or reader.part_of[at] is not reader.part_of[best]
            or following.broken
            or reader.references(at)
            or len(reader.text([*chosen, at])) > MAX_CHARS
            or re.search(r"[\w,;:]$|\?", text)
            or _RESULT.search(text)
            or _POINTER.search(text)
            or _OF_OTHERS.match(text)
        ):
            break
        # In the abstract and introduction, unlike in a method's own section, the next sentence often has another
        # subject.
        lead = reader.role(at) in (Role.ABSTRACT, Role.INTRODUCTION)
        if lead and not (_GOES_ON.match(text) or found.search(text)):
            break
        chosen.append(at)
    return chosen
