"""Finds the names that a sentence introduces for techniques, as in "we propose X", "called X" and "*X* computes …".

Does not use a part-of-speech tagger. A noun phrase is the text between a verb or determiner and the next function word.
The approach follows Justeson and Katz, "Technical terminology: some linguistic properties and an algorithm for
identification in text", Natural Language Engineering 1(1), 1995."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from xkg.build.techniques.names import MAX_WORDS, SHORT, abbreviations, is_name, key
from xkg.build.techniques.word_lists import LEADING, LITTLE, STOP, VERBS

_TOKEN = re.compile(r"\$[^$]*\$|\([^()]*\)|[^\s,;:.!?()\[\]\"“”]+|[,;:.!?()\[\]\"“”]")
_NEW = r"(?:propose|introduce|present|develop|design|devise|formulate|derive|construct|contribute)"
_PROPOSE = re.compile(
    rf"\b(?:we|paper|work|article)\s+(?:(?:\w+ly|also|then|first|next|further|now|here|thus|instead)\s+)*{_NEW}s?\s+",
    re.IGNORECASE,
)
_CALL = re.compile(
    r"(?:(?<!so-)\b(?:called|named|termed|dubbed|coined)|\b(?:referred to as|abbreviated as)"
    r"|\b(?:which|that|what) we (?:call|name|term|dub|refer to as)"
    r"|\bwe\s+(?:\w+\s+)?(?:call|name|term|dub|coin)\s++(?:(?:this|the|our|it|these|such|resulting|proposed|new)\s++)*+"
    r"(?:(?:[\w-]+\s){1,3}(?=(?:the|an?)\s))?"
    r"(?:(?:method|approach|algorithm|framework|model|technique|procedure|idea|strategy|scheme|module|variant)\s)?"
    r"|\bwe\s+(?:\w+\s+)?refer\s+to\b[^.;]{2,160}?\bas)\s*+(?:as\s++)?(?=\S)",
    re.IGNORECASE,
)
_SAYS = (
    r"is|are|means|refers to|denotes|sets|computes|takes|maps|replaces|estimates|generates|selects|encodes|decodes|"
    r"measures|minimi[sz]es|maximi[sz]es|updates|adds|removes|predicts|penali[sz]es|weights|scales|keeps|splits|samples|learns"
)
_GIVES = re.compile(
    r"\b(?:(?:is|are|as)\s+(?:the|our)|(?:yields?|gives?|defines?|computes?|obtains?|adds?)(?:\s+(?:the|an?|our|this))?)"
    r"\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Term:
    """A name in a sentence. `how` describes how the sentence introduces the name. `short` is the abbreviation that the
    sentence gives, if any."""

    name: str
    how: Literal["propose", "call", "define"]
    short: str | None = None


def noun_phrase(text: str, at: int) -> tuple[str, int]:
    """Returns the noun phrase in `text` that starts at `at`, and the phrase's end. Omits articles and words of praise.
    Returns "" if there is no noun phrase."""
    phrase: list[str] = []
    end = at
    for match in _TOKEN.finditer(text, at):
        token = match[0]
        bare = token.strip("*_'’‘`").casefold()
        acronym = len(token) > 2 and token.isupper() and not text.isupper()  # as in "we propose FIRST"
        if not phrase and ((bare in LEADING and not acronym) or token in '"“*_–—' or (token == "," and end > at)):
            end = match.end()
            continue
        if token[0] in ',;:.!?()[]"“”$' or token in "–—" or bare in STOP or (phrase and bare.endswith("ly")):
            break
        if phrase and bare in VERBS and re.fullmatch(r"[a-z]+[^su]s|[a-z]{3,}ed", bare):
            break
        phrase.append(token.strip("*_`"))
        end = match.end()
        if len(phrase) > MAX_WORDS + 1:
            break
    while phrase and phrase[-1].casefold() in LITTLE:
        phrase.pop()
    return re.sub(r"(?:'s|’s|(?<![-–—])[-–—]++)$", "", " ".join(phrase)).strip("'’‘"), end


def _short_after(text: str, end: int) -> str | None:
    match = re.match(rf"\s*\(\s*({SHORT}?)\s*(?:[,;][^()]*)?\)", text[end : end + 60])
    return match[1] if match and sum(c.isupper() for c in match[1]) >= 2 else None


def _apposition(text: str, end: int) -> tuple[str, int]:
    """Returns the name in "… approach, NAME," or "… approach: NAME", and the name's end. Returns "" if there is no
    name. For example, "…, a method that …" is a description."""
    match = re.match(r"[^,:;.()–—]{0,60}?\s*[,:–—]\s*(?:namely\s+|i\.e\.,?\s+)?", text[end : end + 90])
    if not match or re.match(r"(?:an?|the|our|its|which|where)\b", text[end + match.end() :], re.IGNORECASE):
        return "", end
    name, stop = noun_phrase(text, end + match.end())
    named = any(c.isupper() for c in name) and not re.match(r"\s*(?:and|or)\b", text[stop:])
    return (name, stop) if named else ("", end)


def terms(text: str) -> Iterator[Term]:
    """Yields the names that a sentence proposes or introduces, without duplicates."""
    seen: set[tuple[str, ...]] = set()
    longs = abbreviations([text]).values()
    for name, how, end in _named(text):
        # The long form of an abbreviation ends where the abbreviation starts, as in "we propose Eggs as Code (EaC)".
        for long in longs:
            if long.startswith(f"{name} ") and text.startswith(long, end - len(name)):
                name, end = long, end - len(name) + len(long)
        if is_name(name, proper=True) and key(name) not in seen:
            seen.add(key(name))
            yield Term(name, how, _short_after(text, end))


def _named(text: str) -> Iterator[tuple[str, Literal["propose", "call"], int]]:
    for match in _PROPOSE.finditer(text):
        name, end = noun_phrase(text, match.end())
        other, stop = _apposition(text, end)
        if other and not _short_after(text, end):
            yield other, "call", stop
            continue
        # "We introduce patch voting, a …" contains a name. "We introduce a … procedure" is only a description.
        article = re.match(r"(?:an?|the|our|two|three|several|some|this|its|new|novel)\b", text[match.end() :], re.I)
        named = re.match(r"\s*(?:,\s+(?:an?|the|which|our|where)\b|\()", text[end:])
        yield re.sub(r"^\w+ing (?:an?|the) ", "", name), "call" if named and not article else "propose", end
    for match in _CALL.finditer(text):
        name, end = noun_phrase(text, match.end())
        yield name, "call", end


def defines(text: str, name: str) -> bool:
    """Returns whether a sentence defines `name`, as in "the batch step computes …" and "the second term is the
    repulsive force: …"."""
    at = text.find(name)
    before, after = text[:at], text[at + len(name) :]
    subject = re.fullmatch(r"(?:[\w-]+,?\s+){0,3}?(?:the|our|an?|this|its)?\s*[\"“'‘]?", before, re.IGNORECASE)
    does = re.match(rf"[\"”'’]?\s*(?:\([^)]*\)\s*|\$[^$]{{1,80}}\$\s*)?(?:\w+ly\s+)?(?:{_SAYS})\b", after)
    given = _GIVES.search(before) and re.match(r"\s*(?:\([^)]*\)\s*)?(?:[:,.;–—]|(?:that|which|of|for|by)\b)", after)
    return at >= 0 and bool((subject and does) or given)
