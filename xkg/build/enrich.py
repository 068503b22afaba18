"""Definitions: the sentences of a paper that say what a technique is, with where they stand.

A sentence is scored by what it does with the name (is its subject, proposes it, gives it), by where it stands (under
the technique's own heading, in the abstract, in the method), and against what makes it unreadable alone: a
transition, a pronoun without its noun, a pointer to figures and sections, a result."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xkg.build.document import Document
from xkg.build.names import head, key, stem, words
from xkg.build.prose import Sentence
from xkg.build.roles import Part, Role
from xkg.model import Excerpt

MAX_SENTENCES = 4
MAX_CHARS = 700

_ACTS = (
    r"is|are|refers to|denotes|aims|seeks|consists|combines|uses|learns|computes|takes|maps|"
    r"replaces|works|estimates|employs|generates|"
    r"selects|encodes|decodes|measures|minimi[sz]es|maximi[sz]es|updates|adds|removes|"
    r"produces|predicts|performs|provides|allows|enables|"
    r"extends|modifies|applies|assigns|operates|trains|transforms|splits|samples|adapts|"
    r"alternates|begins|starts|integrates|augments|"
    r"can be|will|enlarges|upscales|involves|has|comprises|first|then|penali[sz]es|weights|"
    r"scales|stores|merges|schedules|keeps|partitions"
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
    r"observe|show|demonstrate|compare|evaluate|prove)|\d+(?:\.\d+)?\s*%|improvements?|datasets?)\b",
    re.IGNORECASE,
)
_DOES = re.compile(
    r"\b(?:we (?:\w+ )?(?:use|employ|apply|compute|train|sample|construct|stack|initiali[sz]e|select|"
    r"update|minimi[sz]e|maximi[sz]e|define|encode|decode|draw|replace|subtract|add|split|"
    r"project|generate|estimate|build|adopt|optimi[sz]e|learn|formulate|frame|start|intervene|propose|"
    r"introduce|present|collect|prompt)|(?:is|are) (?:\w+ )?(?:obtained|computed|given by|defined|implemented|trained|"
    r"applied|transformed|downsampled|split|flattened|updated|sampled|constructed|generated|"
    r"initiali[sz]ed|encoded|decoded|learned|drawn|calculated|converted|represented|written|formulated))\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"(?:it|this|these|they|specifically|in particular|concretely|namely|more (?:precisely|specifically)|"
    r"our (?:main |key |core )?(?:idea|insight|approach|method|algorithm))\b",
    re.IGNORECASE,
)
_THIS_KIND = re.compile(r"^(?:This|The|These)\s+([\w-]+)")
_WHERE = {
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


@dataclass(frozen=True)
class Reader:
    """A paper as extraction reads it: sentences, and for each its part (None before the first)."""

    document: Document
    sentences: Sequence[Sentence]
    part_of: Sequence[Part | None]

    def role(self, i: int) -> Role:
        part = self.part_of[i]
        return part.role if part is not None else Role.ABSTRACT

    def excerpts(self, indices: Sequence[int]) -> tuple[Excerpt, ...]:
        """The spans of these sentences."""
        out: list[Excerpt] = []
        for i in indices:
            part = self.part_of[i]
            for start, end in self.sentences[i].spans:
                path, line = self.document.place(start) or (None, None)
                out.append(Excerpt(section=part.title if part else "", start=start, end=end, path=path, line=line))
        return tuple(out)

    def text(self, indices: Sequence[int]) -> str:
        return " ".join(self.sentences[i].text for i in indices)


def _pattern(names: Sequence[str]) -> re.Pattern[str]:
    """Finds any of the names, up to case, hyphens, plurals; short forms as they are."""
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


def mentions(names: Sequence[str], sentences: Sequence[Sentence]) -> list[int]:
    """Indices of the sentences that any of the names occurs in."""
    pattern = _pattern(names)
    return [i for i, s in enumerate(sentences) if pattern.search(s.text)]


def _alone(text: str, kind: str) -> float:
    """How readable a sentence is by itself, 0 at best."""
    score = 0.0
    count = len(text.split())
    if _TRANSITION.match(text):
        this = _THIS_KIND.match(text)
        score -= 1.0 if this and this[1].casefold() == kind else 2.0 if _MILD.match(text) else 5.0
    if count < 6:
        score -= 4
    score -= max(0, count - 60) / 20
    score -= 3 * min(2, len(_POINTER.findall(text))) + 0.7 * len(_EQUATION.findall(text))
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
    if text.rstrip()[-1:] in ":,;" or not (text[:1].isupper() or text[:1] in "$(\"“'`" or text[:1].isdigit()):
        score -= 3
    if len(_RESULT.findall(text)) > 0:
        score -= 1.5 + 0.5 * len(_RESULT.findall(text))
    return score


def _follows_well(text: str) -> bool:
    if (
        len(text.split()) < 4
        or text.rstrip()[-1:] in ",;"
        or "?" in text
        or not (text[:1].isupper() or text[:1] in '$("“')
    ):
        return False
    if _RESULT.search(text) or re.match(
        r"(?:in contrast|unlike|however|but|for (?:example|instance)|note|recall|see|although|moreover|"
        r"furthermore|similarly|compared|empirically|additionally)\b",
        text,
        re.IGNORECASE,
    ):
        return False
    return not _POINTER.search(text)


def _alike(reader: Reader, stems: set[str]) -> list[int]:
    """Sentences of abstract and introduction that speak of most of a heading's words."""
    if len(stems) < 2:
        return []
    lead = (i for i in range(len(reader.sentences)) if reader.role(i) in (Role.ABSTRACT, Role.INTRODUCTION))
    return [
        i for i in lead if len(stems & {stem(w) for w in words(reader.sentences[i].text)}) >= max(2, 0.66 * len(stems))
    ]


def choose(
    reader: Reader, names: Sequence[str], own: Sequence[int], given: Sequence[int] = (), taken: Collection[int] = ()
) -> list[int]:
    """Indices of one to four sentences that together define what is called by any of `names`; empty where none does.

    `own` are the sentences under its own heading, `given` those that were seen to name it, `taken` those that define
    something else already. The definition is the text of the excerpts' sentences, joined by spaces."""
    sentences = reader.sentences
    pattern = _pattern(names)
    kind = head(names[0])
    subject = re.compile(
        rf"^(?:{{}}[\w-]+,\s+)?(?:(?:the|our|an?|this|each|specifically,|"
        rf"concretely,)\s+)*(?:[\w-]+\s+){{0,2}}?{pattern.pattern}(?:\s*\([^)]*\)|\s*,[^,]{{3,80}},|"
        rf"\s+of\s+\w+|\s+\$[^$]*\$|\s+\w{{1,3}}\b)*\s+(?:\w+ly\s+)?(?:{_ACTS})\b".replace("{}", ""),
        re.IGNORECASE,
    )
    proposed = re.compile(rf"\b{_NEW}\s+(?:[\w-]+,?\s+){{0,6}}?(?:{pattern.pattern})", re.IGNORECASE)
    called = re.compile(
        rf"\b(?:call(?:ed)?|term(?:ed)?|named?|dub(?:bed)?|refer(?:red)?\b.{{0,80}}\bas|known as|"
        rf"denote\w*)\s+(?:\S+\s+){{0,6}}?(?:{pattern.pattern})|(?:{pattern.pattern})[^.]{{0,140}}\b(?:is|"
        rf"are) (?:defined|given|formulated|computed)\b|\bdefine\b[^.]{{0,40}}(?:{pattern.pattern})",
        re.IGNORECASE,
    )
    stems = set(key(names[0]))
    owned, seen = set(own), set(given)
    where = sorted(owned | seen | set(mentions(names, sentences)) | set(_alike(reader, stems) if owned else ()))
    scores: dict[int, float] = {}
    for i in where:
        sentence = sentences[i]
        text = sentence.text
        score = _alone(text, kind) + _WHERE[reader.role(i)]
        if subject.match(text):
            score += 5.5
        elif proposed.search(text):
            score += 4.5
        elif called.search(text):
            score += 5
        elif pattern.search(text):
            score += 1.5
        overlap = len(stems & {stem(w) for w in words(text)}) / max(1, len(stems))
        if not owned:
            pass
        elif i not in owned:
            score += overlap
        else:
            score += 2.5 + 2 * overlap + (1.5 if _DOES.search(text) else 0) + (0.5 if sentence.display else 0)
            score += max(0.0, 1.5 - 0.5 * own.index(i)) - 0.1 * min(10, own.index(i))
        if i in seen:
            score += 1.5
        if sentence.broken:
            score -= 2.5
        scores[i] = score
    if not scores:
        return []
    scores = {i: score for i, score in scores.items() if i not in taken} or scores
    best = max(scores, key=lambda i: (scores[i], -i))
    if scores[best] < 0 and best not in seen and best not in owned:
        return []
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
            or size > MAX_CHARS
            or not _follows_well(following.text)
        ):
            break
        if reader.part_of[at] is not reader.part_of[best]:
            break
        # Abstract and introduction go on to the next thing, a method's own section stays with it.
        if reader.role(at) in (Role.ABSTRACT, Role.INTRODUCTION) and not (
            _GOES_ON.match(following.text) or pattern.search(following.text)
        ):
            break
        chosen.append(at)
        at += 1
    return chosen
