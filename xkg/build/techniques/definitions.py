"""Definitions: the sentences of a paper that define a technique, with their positions.

A sentence is scored by its relation to the name (the name is its subject, is proposed, is introduced), by its position
(under the technique's own heading, in the abstract, in the method), and lower where it does not stand alone: a
transition, a pronoun without its noun, a reference to figures and sections, a result."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from xkg.build.paper.document import Document
from xkg.build.paper.sentences import Sentence
from xkg.build.paper.sentences import sentences as prose
from xkg.build.techniques.names import head, key, stem, words
from xkg.build.techniques.noun_phrases import Term, terms
from xkg.build.techniques.section_roles import Part, Role, outline
from xkg.model import Excerpt

MAX_SENTENCES = 4
MAX_CHARS = 700

_ACTS = (
    r"is|are|refers to|denotes|aims|seeks|consists|combines|uses|learns|computes|takes|maps|"
    r"replaces|works|estimates|employs|generates|"
    r"selects|encodes|decodes|measures|minimi[sz]es|maximi[sz]es|updates|adds|removes|"
    r"produces|predicts|performs|"
    r"extends|modifies|applies|assigns|operates|trains|transforms|splits|samples|adapts|"
    r"alternates|begins|starts|integrates|augments|"
    r"enlarges|upscales|involves|has|comprises|first|then|penali[sz]es|weights|"
    r"scales|stores|merges|schedules|keeps|partitions|"
    r"(?!this|thus|across|always|perhaps|results|experiments|shows|outperforms|yields)[a-z]{2,}[^su\W]s"
)
_NEW = (
    r"(?:propose|introduce|present|develop|design|devise|define|describe|formulate|derive|"
    r"construct|build|use|employ|adopt|apply|incorporate)s?"
)
_TRANSITION = re.compile(
    r"^(?:however|but|moreover|furthermore|in contrast|by contrast|unlike|although|though|"
    r"therefore|thus|hence|consequently|nevertheless|"
    r"nonetheless|on the other hand|similarly|likewise|besides|as a result|otherwise|yet|still|instead|"
    r"following (?:this|these|the above)|recall|note|as (?:mentioned|discussed|noted|shown|described)|"
    r"for (?:example|instance)|additionally|in (?:addition|other words|practice|general|what follows|"
    r"the following|this (?:section|appendix|subsection))|"
    r"(?:this|these|those|that|they|it|such|he|she|its|their|the former|the latter|both of)\b|and\b|or\b|also\b|"
    r"with this|from this|given this|under this|because of this|due to this|put differently|to reiterate|"
    r"intuitively|finally|next|then|lastly|second|third|secondly|thirdly|importantly|interestingly|"
    r"with (?:the|these) |here\b|we (?:can |will )?(?:now|next|then|also|further|finally)\b|"
    r"one (?:potential|possible|may)\b|alternatively|specifically|namely|concretely|"
    r"in particular|more (?:precisely|specifically|formally))",
    re.IGNORECASE,
)
_MILD = re.compile(
    r"^(?:instead|specifically|namely|concretely|in particular|more (?:precisely|specifically|formally)|"
    r"finally|next|then|here|we (?:can |will )?(?:now|next|then|also|further|finally)|"
    r"first|second|third|with (?:the|these) )\b",
    re.IGNORECASE,
)
_POINTER = re.compile(
    r"\b(?:Fig(?:ure|\.)|Table|Tab\.|Section|Sec\.|Appendix)s?\s*[A-Z]?\d|\bin (?:the )?(?:next|following|"
    r"previous) section|\bthis section\b|\bsupplementary\b"
)
_EQUATION = re.compile(r"\b(?:eqs?|equations?)\b\.?[~\s]*(?:\(\d|\d|\\|\[)", re.IGNORECASE)
_RESULT = re.compile(
    r"\b(?:outperform\w*|accuracy|baselines?|state-of-the-art|experiments?|results|we (?:find|found|"
    r"observe|show that|demonstrate|compare|evaluate|prove)|\d+(?:\.\d+)?\s*%|improvements?|datasets?)\b",
    re.IGNORECASE,
)
# Prior work and opinions do not define a technique.
_OF_OTHERS = re.compile(
    r"(?:an? (?:growing|large|recent|rich|long) (?:line|body|number|amount|history) of|(?:prior|previous|recent|"
    r"existing|earlier|concurrent|many|several|some|other|most) (?:\w+ )?(?:works?|studies|methods|approaches|papers|"
    r"research|authors|literature))\b",
    re.IGNORECASE,
)
_OPINION = re.compile(
    r"(?:\w+, )?we (?:\w+ly )?(?:view|interpret|believe|argue|hypothesi[sz]e|conjecture|suspect|speculate|hope|"
    r"expect)\b",
    re.IGNORECASE,
)
_DOES = re.compile(
    r"\b(?:we (?:\w+ )?(?:use|employ|apply|compute|train|sample|construct|stack|initiali[sz]e|select|"
    r"update|minimi[sz]e|maximi[sz]e|define|encode|decode|draw|replace|subtract|add|split|"
    r"project|generate|estimate|build|adopt|optimi[sz]e|learn|formulate|frame|start|intervene|propose|"
    r"introduce|present|collect|prompt)|(?:is|are|be) (?:\w+ )?(?:\w{3,}ed|given by|"
    r"drawn|written|built|split|set|sent|chosen))\b",
    re.IGNORECASE,
)
# Gaps that a removed reference or citation leaves in readable text.
_GAP = re.compile(
    r"\b(?:from|of|by|in|to|at|with|and|see|per|following|as in|Algorithm|Alg\.|Figure|Fig\.|"
    r"Section|Sec\.|Table|Theorem|Equation|Eq\.)\s*[.,;:)]"
    r"|\b(?:in|of|from|by) (?:to|by|with|and|is|are|we|which|that)\b"
)
_OPENING = 5  # sentences before any heading that count as abstract
_IN_THIS_PAPER = re.compile(
    r"in this (?:section|paper|work),? (?=we (?:propose|introduce|"
    r"present|develop|describe a)\b)",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"\\(?:auto|[cC]|eq|page|name|v)?ref\b")
_GOES_ON = re.compile(
    r"(?:it|this|these|they|specifically|in particular|concretely|namely|more (?:precisely|specifically)|"
    r"our (?:main |key |core )?(?:idea|insight|approach|method|algorithm))\b",
    re.IGNORECASE,
)
_THIS_KIND = re.compile(r"^(?:This|The|These)\s+([\w-]+)")
_ROLE_WEIGHTS = {
    Role.ABSTRACT: 1.5,
    Role.INTRODUCTION: 1.0,
    Role.METHOD: 1.0,
    Role.APPLICATION: 0.5,
    Role.DETAILS: 0.0,
    Role.BACKGROUND: 0.0,
    Role.THEORY: -1.0,
    Role.CONCLUSION: -1.5,
    Role.DISCUSSION: -2.0,
    Role.RELATED: -2.0,
    Role.EXPERIMENTS: -2.5,
    Role.BACK: -5.0,
}


# The relation of a sentence to a name, which is replaced by \x10.
_LOOSELY = re.compile(
    r"^(?:(?:the|our|this)\s+)?\x10(?:\s*\([^)]*\))?\s+(?:\w+ly\s+)?(?:provides|allows|"
    r"enables|helps|induces|offers|makes|brings|can|will|"
    r"is (?:an? )?(?:able|capable|solution|useful|first|effective|compatible|competitive|applicable|also))\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"^(?:[\w-]+,\s+)?(?:(?:the|our|an?|this|each)\s+)*(?:[\w-]+\s+){0,2}?\x10"
    r"(?:\s*\([^)]*\)|\s*,[^,]{3,80},|\s+of\s+\w+|\s+\$[^$]*\$|\s+(?!of\b)\w{1,3}\b)*\s+(?:\w+ly\s+)?"
    rf"(?:{_ACTS})\b",
    re.IGNORECASE,
)
# "the LML polytope" is not about LML.
_WHOLE = (
    r"(?=\s*(?:[^\w\s]|$)|\s+(?:which|that|to|for|of|with|by|in|on|as|and|or|is|are|"
    r"using|from|where|via|based|at|when|under|"
    r"layer|loss|module|method|algorithm|model|framework|step|scheme|network|objective|function|technique|approach|"
    r"procedure|mechanism|strategy|system|process|architecture)s?\b)"
)
_PROPOSED = re.compile(rf"\b{_NEW}\s+(?:[\w-]+,?\s+){{0,6}}?\x10{_WHOLE}", re.IGNORECASE)
_CALLED = re.compile(
    r"\b(?:call(?:ed)?|term(?:ed)?|named?|dub(?:bed)?|refer(?:red)?\b.{0,80}\bas|"
    r"known as|denote\w*)\s+(?:\S+\s+){0,6}?\x10"
    r"|\x10[^.]{0,140}\b(?:is|are) (?:defined|given|formulated|computed)\b|\bdefine\b[^.]{0,40}\x10",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Reader:
    """A paper for extraction: sentences, and for each its part (None before the first)."""

    document: Document
    sentences: Sequence[Sentence]
    part_of: Sequence[Part | None]

    @cached_property
    def _stems(self) -> list[frozenset[str]]:
        return [frozenset(map(stem, words(s.text))) for s in self.sentences]

    def stems(self, i: int) -> frozenset[str]:
        """The stems of the words of a sentence."""
        return self._stems[i]

    @cached_property
    def _having(self) -> dict[str, set[int]]:
        out: dict[str, set[int]] = {}
        for i, stems in enumerate(self._stems):
            for each in stems:
                out.setdefault(each, set()).add(i)
        return out

    def having(self, stems: Sequence[str]) -> set[int]:
        """The sentences that have all of these stems; none for no stems."""
        found = sorted((self._having.get(each, set()) for each in stems), key=len)
        return set.intersection(*found) if found else set()

    @cached_property
    def terms(self) -> list[tuple[Term, ...]]:
        """The names that each sentence introduces."""
        return [tuple(terms(s.text)) for s in self.sentences]

    def role(self, i: int) -> Role:
        part = self.part_of[i]
        if part is not None:
            return part.role
        return Role.ABSTRACT if i < _OPENING else Role.METHOD

    def references(self, i: int) -> int:
        """The number of cross references in a sentence; the readable text has gaps there."""
        sentence = self.sentences[i]
        return len(_REFERENCE.findall(self.document.text, sentence.start, sentence.end))

    def excerpts(self, indices: Sequence[int]) -> tuple[Excerpt, ...]:
        """The spans of these sentences."""
        return tuple(
            excerpt_of(self.document, self.part_of[i], *span) for i in indices for span in self.sentences[i].spans
        )

    def goes_on(self, i: int) -> bool:
        """Whether another sentence of the paragraph follows."""
        return i + 1 < len(self.sentences) and self.sentences[i + 1].paragraph == self.sentences[i].paragraph

    def text(self, indices: Sequence[int]) -> str:
        return " ".join(self.sentences[i].text for i in indices)


def read(document: Document) -> tuple[Reader, tuple[Part, ...]]:
    """A paper's sentences and parts."""
    sentences = prose(document)
    parts = outline(document, sentences)
    part_of = {i: p for part in parts for p in part.walk() for i in p.sentences}
    return Reader(document, sentences, [part_of.get(i) for i in range(len(sentences))]), parts


def excerpt_of(document: Document, part: Part | None, start: int, end: int) -> Excerpt:
    """The excerpt of a part between two offsets."""
    path, line = document.place(start) or (None, None)
    return Excerpt(section=part.title if part else "", start=start, end=end, path=path, line=line)


@lru_cache(maxsize=256)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Matches any of the names, ignoring case, hyphens and plurals; short forms exactly."""
    out = []
    for name in names:
        parts = re.findall(r"[^\W_]+", name)
        if not parts:
            continue
        if len(parts) == 1 and sum(c.isupper() for c in name) >= 2:
            out.append(re.escape(parts[0]))
        else:
            joined = r"(?:\s?\([\w+-]{1,12}\))?[\s\-–/.'’]{1,3}".join(re.escape(p) for p in parts)
            out.append(rf"(?i:{joined}s?)")
    return re.compile(rf"(?<![\w])(?:{'|'.join(out) or '(?!)'})(?![\w])")


def mentions(names: Sequence[str], reader: Reader) -> list[int]:
    """Indices of the sentences that contain any of the names."""
    near: set[int] = set()
    for name in names:
        near |= reader.having([stem(w) for w in words(name)])
    pattern = _pattern(tuple(names))
    return [i for i in sorted(near) if pattern.search(reader.sentences[i].text)]


def _mild(text: str) -> float:
    if re.match(r"we (?:then|also|further)\b", text, re.IGNORECASE) or _IN_THIS_PAPER.match(text):
        return 0.5
    return 2.0 if _MILD.match(text) else 5.0


def _alone(text: str, kind: str, *, opens: bool = False) -> float:
    """How readable a sentence is by itself, at most 0. `opens`: it is the first of a section titled as a `kind`."""
    score = 0.0
    count = len(text.split())
    if _TRANSITION.match(text):
        this = _THIS_KIND.match(text)
        score -= 0.0 if opens and this and this[1].casefold() == kind else _mild(text)
    if count < 6:
        score -= 4
    score -= max(0, count - 60) / 20
    score -= 3 * min(2, len(_POINTER.findall(_IN_THIS_PAPER.sub("", text)))) + 1.2 * len(_EQUATION.findall(text))
    if (
        re.match(
            r"(?:we|let us) (?:now |next |first |then |will |here )*(?:describe|discuss|review|"
            r"introduce|present|explain|begin|turn|focus)\b",
            text,
            re.IGNORECASE,
        )
        and count < 14
    ):
        score -= 5
    if re.match(
        r"to (?:address|tackle|mitigate|overcome|solve|remedy) (?:this|these|the above|such)", text, re.IGNORECASE
    ):
        score -= 0.5
    if "?" in text:
        score -= 5
    if _OF_OTHERS.match(text) or _OPINION.match(text):
        score -= 8
    if text.startswith("$"):
        score -= 1.5
    score -= 3 * min(2, len(_GAP.findall(text)))
    if re.search(r"[\w,;:]$", text) or not (text[:1].isupper() or text[:1] in "$(\"“'`" or text[:1].isdigit()):
        score -= 3
    if len(_RESULT.findall(text)) > 0:
        score -= 1.5 + 0.5 * len(_RESULT.findall(text))
    return score


def _follows_well(text: str) -> bool:
    if (
        len(text.split()) < 4
        or re.search(r"[\w,;:]$", text)
        or "?" in text
        or not (text[:1].isupper() or text[:1] in '$("“')
    ):
        return False
    if _RESULT.search(text) or re.match(
        r"(?:in contrast|unlike|however|but|for (?:example|instance)|note|recall|see|although|moreover|"
        r"furthermore|similarly|compared|empirically|additionally)\b|.*\b(?:described|detailed|explained|"
        r"discussed|illustrated) (?:in the following|below|next|later)\b",
        text,
        re.IGNORECASE,
    ):
        return False
    return not _POINTER.search(text)


def _alike(reader: Reader, stems: set[str]) -> list[int]:
    """Sentences of abstract and introduction that contain most of a heading's words."""
    if len(stems) < 2:
        return []
    lead = (i for i in range(len(reader.sentences)) if reader.role(i) in (Role.ABSTRACT, Role.INTRODUCTION))
    return [i for i in lead if len(stems & reader.stems(i)) >= max(2, 0.66 * len(stems))]


def _about(text: str) -> float:
    """How well a sentence describes the name in it, which is replaced by \\x10."""
    if "\x10" not in text:
        return 0.0
    if _LOOSELY.match(text):
        return 3.0
    if _SUBJECT.match(text):
        return 5.5
    if _PROPOSED.search(text):
        return 4.5
    return 5.0 if _CALLED.search(text) else 1.5


def choose(
    reader: Reader, names: Sequence[str], own: Sequence[int], naming: Sequence[int] = (), used: Collection[int] = ()
) -> list[int]:
    """Indices of one to four sentences that together define the technique called `names`; empty where none does.

    `own` are the sentences under its heading, `naming` those that name it, `used` those that already define another
    technique. The definition is the text of the excerpts' sentences, joined by spaces."""
    sentences = reader.sentences
    pattern = _pattern(tuple(names))
    kind = head(names[0])
    stems = set(key(names[0]))
    rank = {i: n for n, i in enumerate(own)}
    owned, named = set(own), set(naming)
    relevant = sorted(owned | named | set(mentions(names, reader)) | set(_alike(reader, stems) if owned else ()))
    scores: dict[int, float] = {}
    for i in relevant:
        sentence = sentences[i]
        text = sentence.text
        if not re.search(r"[^\W\d_]{2}|\$", text):
            continue
        score = _alone(text, kind, opens=rank.get(i) == 0) + max(
            _ROLE_WEIGHTS[reader.role(i)], 0.0 if i in owned else -9.0
        )
        marked = re.sub(r"[\"“”]", "", pattern.sub("\x10", text))
        if i in owned and kind and "\x10" not in text:
            marked = re.sub(rf"^([Tt]he|[Oo]ur|[Tt]his) {re.escape(kind)}\b", "\x10", marked)
        score += _about(marked)
        overlap = len(stems & reader.stems(i)) / max(1, len(stems))
        if not owned:
            score += reader.role(i) in (Role.ABSTRACT, Role.INTRODUCTION)
        elif i not in owned:
            score += overlap
        else:
            score += 3 + 2 * overlap + (1.5 if _DOES.search(text) else 0) + (0.5 if sentence.display else 0)
            score += max(0.0, 1.5 - 0.5 * rank[i]) - 0.1 * min(10, rank[i])
        if i in named:
            score += 1.5 if owned else 2.5
        # The previous sentence was cut by a page break.
        if i and re.search(r"[\w,;]$", sentences[i - 1].text):
            score -= 3
        if sentence.broken:
            score -= 2.5
        score -= 2 * min(2, reader.references(i))
        if i in used:
            score -= 2.5
        scores[i] = score
    if not scores:
        return []
    best = max(scores, key=lambda i: (scores[i], -i))
    if scores[best] < 0 and best not in named and best not in owned:
        # A section describes its technique, however badly; a passing mention does not.
        own_scores = [i for i in scores if i in owned]
        if not own_scores:
            return []
        best = max(own_scores, key=lambda i: (scores[i], -i))
    chosen = [best]
    if _TRANSITION.match(sentences[best].text) and not _MILD.match(sentences[best].text) and best > 0:
        before = best - 1
        if (
            sentences[before].paragraph == sentences[best].paragraph
            and not _TRANSITION.match(sentences[before].text)
            and _alone(sentences[before].text, kind) > -4
        ):
            chosen.insert(0, before)
    at = best + 1
    while at < len(sentences) and len(chosen) < MAX_SENTENCES:
        following = sentences[at]
        size = sum(len(sentences[i].text) + 1 for i in chosen) + len(following.text)
        if (
            following.paragraph != sentences[best].paragraph
            or following.broken
            or reader.references(at)
            or size > MAX_CHARS
            or not _follows_well(following.text)
        ):
            break
        if reader.part_of[at] is not reader.part_of[best]:
            break
        # Abstract and introduction change the subject; a method's own section does not.
        if reader.role(at) in (Role.ABSTRACT, Role.INTRODUCTION) and not (
            _GOES_ON.match(following.text) or pattern.search(following.text)
        ):
            break
        chosen.append(at)
        at += 1
    return chosen
