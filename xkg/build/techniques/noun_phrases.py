"""Finds the names that a sentence gives to techniques.

There is no tagger: a noun phrase is the text between a verb or determiner and the next function word, as in
Justeson and Katz, "Technical terminology: some linguistic properties and an algorithm for identification in text",
Natural Language Engineering 1(1), 1995.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from xkg.build.techniques.names import MAX_WORDS, SHORT, initials_match, is_name, key
from xkg.build.techniques.word_lists import HEADS, LEADING, LITTLE, SAME_KIND, STOP, VERBS

_TOKEN = re.compile(r"\$[^$]*\$|\([^()]*\)|[^\s,;:.!?()\[\]\"“”]+|[,;:.!?()\[\]\"“”]")


@dataclass(frozen=True)
class Term:
    """A name in a sentence: `how` it is introduced ("propose", "call", "define", "emphasise", "use", "step" or "part")
    and `at` which offset."""

    name: str
    how: str
    at: int
    short: str | None = None
    more: str = ""


_NEW = r"(?:propose|introduce|present|develop|design|devise|formulate|derive|construct|contribute)"
_PROPOSE = re.compile(
    rf"\b(?:we|paper|work|article)\s+(?:\w+ly\s+|also\s+|then\s+|first\s+|next\s+|further\s+|now\s+|"
    rf"here\s+|thus\s+|instead\s+|therefore\s+|hereby\s+)*"
    rf"{_NEW}s?\s+(?:to\s+(?:use|apply|employ|adopt|adapt|utili[sz]e)\s+)?",
    re.IGNORECASE,
)
_BY = re.compile(r"to \w+ [^.;]{3,160}?\b(?:using|with|by|via|through) (?:the|an?|our) ", re.IGNORECASE)
# "A lightweight forecasting method was developed": how journals propose.
_PROPOSED = re.compile(
    r"(?:^|\b[Ii]n this (?:paper|work|article|study),?\s+)(?:[Aa]n?|[Tt]wo)\s+((?:[\w-]+,?\s+){1,7}?)"
    r"(?:(?:\([^()]{1,15}\)|for\s[^.;]{3,80}?)\s+)?"
    r"(?:is|was|are|were|has been|have been)\s+(?:\w+ly\s+)?"
    r"(?:proposed|developed|introduced|presented|designed|devised)\b"
)
_CALL = re.compile(
    r"\b(?:(?:is|are|was|,|method|approach|algorithm|framework|model|module|technique|loss|strategy|"
    r"scheme|procedure|sampler|setting|system|network|mechanism|variant|objective)\s+"
    r"(?:called|named|termed|dubbed|coined|denoted by|denoted as|referred to as|known as|abbreviated as)"
    r"|(?:(?<!so-)called|termed|dubbed|coined|which we (?:call|name|term|dub|refer to as)|"
    r"that we (?:call|name|term|dub|refer to as)|what we (?:call|term))"
    r"|we\s+(?:call|name|term|dub|coin)\s+(?:this|the|our|it|these|such|the resulting|"
    r"the proposed)?\s*(?:new\s+|proposed\s+|resulting\s+)?"
    r"(?:method|approach|algorithm|framework|model|technique|procedure|idea|strategy|"
    r"scheme|module|variant|system)?(?:\s+as)?)\s+",
    re.IGNORECASE,
)
_REFER = re.compile(
    r"\b(?:we|will)\s+(?:\w+\s+)?refer\s+to\b[^.;]{2,160}?\bas\s+|\bwe\s+(?:call|term|"
    r"name)\s+(?:\S+\s+){1,5}?(?:the|an?)\s+|\breferred\s+to\s+as\s+",
    re.IGNORECASE,
)
_USE = re.compile(
    r"\bwe\s+(?:\w+ly\s+|also\s+|then\s+|first\s+|next\s+|further\s+|instead\s+)*(?:use|"
    r"employ(?:ed)?|adopt(?:ed)?|adapt(?:ed)?|appl(?:y|ied)|leveraged?|utilized?|incorporated?|consider|follow|"
    r"rely on|resort to|turn to)\s+"
    r"|\b(?:is|are|was|were)\s+(?:\w+\s+)?(?:generated|obtained|computed|extracted|produced|estimated|optimi[sz]ed|"
    r"solved|initiali[sz]ed|implemented|encoded|detected|sampled)\s+(?:using|with|by|via)\s+(?:the|an?)\s+",
    re.IGNORECASE,
)
# "We perform an intermediary average-pooling step": what the authors do, by its name and its kind.
_STEP = re.compile(
    r"\bwe\s+(?:\w+ly\s+|also\s+|then\s+|first\s+|next\s+|further\s+)*(?:use|employ|adopt|apply|perform|add|insert)\s+"
    r"(?:an?|the)\s+",
    re.IGNORECASE,
)
_STEPS = frozenset("step operation operator procedure pass scheme strategy mechanism trick".split())
_PARTS = re.compile(
    r"\b(?:has|consists? of|comprises?|contains?|includes?|is composed of|are composed of|"
    r"combines|integrat(?:es|ing)|built (?:from|on))\s+"
    r"(?:(?:the\s+)?(?:following\s+)?(?:two|three|four|five|\d)\s+(?:\w+\s+){0,2}?"
    r"(?:modules|components|parts|steps|stages|phases|ingredients|elements|terms|"
    r"networks|techniques|blocks)[:,]?\s+|:\s*)"
    r"|\b(?:the\s+)?following\s+(?:\w+\s+){0,2}?(?:modules|components|parts|networks|losses|terms):\s+",
    re.IGNORECASE,
)
# "a forward policy that solves the task, a backward policy that …": parts that clauses describe.
_NEXT_PART = re.compile(r"[^;.]{0,200}?,\s*(?:and\s+)?(?:finally,?\s+|lastly,?\s+)?(?=an?\s)")
_BEFORE_PART = re.compile(r"\s*+(?:\(?(?:\d|[ivx]+|[a-e])\)\s*+)?(?:\$[^$]{1,120}\$\s*+[,:]?\s*+)?")
# Prior work, and things that are no technique, may be "called" something too.
_OTHERS = re.compile(
    r"\b(?:recent|prior|previous|existing|earlier|concurrent)\s+(?:\w+\s+){1,4},?\s*(?:is\s+|are\s+)?$"
    r"|\b(?:works?|tasks?|datasets?|benchmarks?|problems?|settings?|phenomenon|issues?|games?|"
    r"theorems?|property|effect)\s*,?\s*(?:(?:is|are|was)\s+)?$",
    re.IGNORECASE,
)


_OUR = re.compile(
    r"\b[Oo]ur\s+((?:[\w-]+\s+){0,5}?)(?:method|approach|algorithm|framework|"
    r"model|system|technique)\s*,\s+(?:called\s+)?"
)


_SAYS = (
    r"is|are|means|refers to|denotes|sets|computes|takes|maps|replaces|estimates|generates|selects|encodes|decodes|"
    r"measures|minimi[sz]es|maximi[sz]es|updates|adds|removes|predicts|penali[sz]es|weights|scales|keeps|splits|samples|learns"
)
_OF_IT = re.compile(r"\s*(?:\([^)]*\)\s*)?(?:[:,.;–—]|(?:that|which|of|for|by)\b)")
_GIVES = re.compile(
    r"\b(?:(?:is|are|as)\s+(?:the|our)|(?:yields?|gives?|defines?|computes?|obtains?|adds?|calls?|called|named|termed|"
    r"dubbed)(?:\s+(?:the|an?|our|this))?)\s*$",
    re.IGNORECASE,
)


def emphasised_name(text: str, name: str) -> Iterator[Term]:
    """The term `name`, emphasised in the sentence `text`, if the sentence introduces it ("the *batch step* computes
    …", "the second term is the *repulsive force*: …") rather than only stressing it."""
    at = text.find(name)
    end = at + len(name)
    before, after = text[:at], text[end:]
    subject = re.fullmatch(r"(?:[\w-]+,?\s+){0,3}?(?:the|our|an?|this|its)?\s*[\"“'‘]?", before, re.IGNORECASE)
    does = re.match(rf"[\"”'’]?\s*(?:\([^)]*\)\s*|\$[^$]{{1,80}}\$\s*)?(?:\w+ly\s+)?(?:{_SAYS})\b", after)
    if before.casefold().startswith("in section"):
        return
    if is_name(name) and ((subject and does) or (_GIVES.search(before) and _OF_IT.match(after))):
        yield Term(name, "emphasise", at, short_after(text, end))


_NOUN_FOLLOWS = re.compile(r"\s+(?!on\b|by\b|upon\b)[a-z]")
_LIKE_ADJECTIVES = frozenset({"based", "inspired"})
# "An approach combining X and Y": what follows such a word describes it.
_KINDS = frozenset("approach approaches method methods framework algorithm technique procedure strategy".split())


def noun_phrase(text: str, at: int) -> tuple[str, int]:
    """The noun phrase of `text` that starts at `at`, without article and praise, and its end; "" where there is
    none."""
    phrase: list[str] = []
    end = at
    for match in _TOKEN.finditer(text, at):
        token = match[0]
        bare = token.strip("*_'’‘`").casefold()
        if not phrase and (bare in LEADING or token in '"“*_–—' or (token == "," and end > at)):
            end = match.end()
            continue
        if bare == "of" and re.match(
            r"\s+(?:the|an?|our|its|their|this|these|"
            r"each|all|any)\b",
            text[match.end() :],
            re.IGNORECASE,
        ):
            break
        # "a meta-learning based framework", but "a framework based on meta-learning".
        adjective = phrase and bare in _LIKE_ADJECTIVES and _NOUN_FOLLOWS.match(text, match.end())
        if token[0] in ',;:.!?()[]"“”$' or token in "–—" or (bare in STOP and not adjective):
            break
        if phrase and (bare.endswith("ly") or (bare.endswith("ing") and phrase[-1].casefold() in _KINDS)):
            break
        if phrase and re.fullmatch(r"(?:[a-z]+(?:[^s]es|[^su]s)|[a-z]{3,}ed)", bare) and bare in VERBS:
            break
        phrase.append(token.strip("*_`"))
        end = match.end()
        if len(phrase) > MAX_WORDS + 1:
            break
    while phrase and phrase[-1].casefold() in LITTLE:
        phrase.pop()
    return re.sub(r"(?:'s|’s|(?<![-–—])[-–—]++)$", "", " ".join(phrase)).strip("'’‘"), end


def _whole(text: str, at: int) -> tuple[str, int]:
    """Like `noun_phrase`, but extended to the words that an abbreviation covers: "batch and match (BaM)"."""
    name, end = noun_phrase(text, at)
    match = re.match(rf"((?:\s+(?!\()[^\s,;:.()]+){{1,6}})\s*\(\s*({SHORT}?)\s*[,;)]", text[end : end + 120])
    if name and match and sum(c.isupper() for c in match[2]) >= 2:
        wider = name + " " + " ".join(match[1].split())
        if initials_match(match[2], wider) and not initials_match(match[2], name) and is_name(wider, proper=True):
            return wider, end + match.end(1)
    # "covariance matrix adaptation (CMA) evolution strategy": the abbreviation stands for a part of the name.
    match = re.match(rf"\s*\(\s*{SHORT}\s*\)\s+", text[end : end + 60])
    if name and match:
        rest, stop = noun_phrase(text, end + match.end())
        if (
            rest
            and rest.casefold() not in SAME_KIND
            and len(rest.split()) <= 3
            and text[end + match.end() :].startswith(rest)
        ):
            return f"{name} {rest}", stop
    return name, end


def short_after(text: str, end: int) -> str | None:
    """The abbreviation in parentheses that follows a name."""
    match = re.match(rf"\s*\(\s*({SHORT}?)\s*(?:[,;][^()]*)?\)", text[end : end + 60])
    return match[1] if match and sum(c.isupper() for c in match[1]) >= 2 else None


def _more(text: str, end: int) -> str:
    match = re.match(r"\s+(?:using|via|with|by|based on|from)\s+(?:the\s+|an?\s+)?", text[end : end + 40])
    if not match:
        return ""
    name, _ = noun_phrase(text, end + match.end())
    return " ".join((match[0] + name).split()) if name and len(name.split()) <= 3 else ""


def _apposition(text: str, end: int) -> tuple[str, int]:
    """The name in "…approach, NAME," or "… approach (NAME)"; "" where there is none."""
    match = re.match(r"[^,:;.()–—]{0,60}?\s*[,:–—]\s*(?:namely\s+|i\.e\.,?\s+)?", text[end : end + 90])
    if not match:
        return "", end
    # "…, a method that …" describes, "…, DDA, …" names.
    if re.match(r"(?:an?|the|our|its|which|where)\b", text[end + match.end() :], re.IGNORECASE) and ":" not in match[0]:
        return "", end
    name, stop = _whole(text, end + match.end())
    if (
        name
        and (name[0].isupper() or any(c.isupper() for c in name[1:]))
        and not re.match(r"\s*(?:and|or)\b", text[stop:])
    ):
        return name, stop
    return "", end


def terms(text: str) -> Iterator[Term]:
    """Names that a sentence proposes, defines, adopts or lists as parts, in order."""
    found: list[Term] = []

    def add(name: str, how: str, at: int, end: int) -> None:
        not_technique = re.match(
            r"(?:\s*\([^)]*\))?,?\s+(?:is\s+)?an?\s+(?:[\w-]+\s+){0,3}?(?:dataset|"
            r"benchmark|corpus|task|problem|setting)\b",
            text[end : end + 120],
        )
        if is_name(name, proper=True) and not not_technique:
            found.append(Term(name, how, at, short_after(text, end), _more(text, end)))

    for match in _PROPOSE.finditer(text):
        name, end = _whole(text, match.end())
        other, stop = _apposition(text, end)
        if other and not short_after(text, end):
            add(other, "call", end, stop)
        # "We introduce patch voting, a …" gives a name; "we introduce a … procedure" describes one.
        named = re.match(r"\s*(?:,\s+(?:an?|the|which|our|where)\b|\()", text[end:])
        article = re.match(
            r"(?:an?|the|our|two|three|several|some|"
            r"this|its|new|novel)\b",
            text[match.end() :],
            re.IGNORECASE,
        )
        # In "a new solver, called X", the first phrase only describes X.
        if not (
            other
            or re.match(
                r"[^,.;:]{0,50},?\s+(?:which we\s+)?(?:called|termed|"
                r"named|dubbed|call|term|name|dub)\b",
                text[end:],
            )
        ):
            # "We propose building a Merkle tree": the thing is the tree.
            name = re.sub(r"^\w+ing (?:an?|the) ", "", name)
            add(name, "call" if named and not article else "propose", match.end(), end)
    for match in _PROPOSED.finditer(text):
        name, end = _whole(text, match.start(1))
        if match.start(1) < end <= match.end(1) + 1:
            add(name, "propose", match.start(1), end)
    # "We propose to estimate … with the Weighted Estimator (WE)" names it by the abbreviation.
    for match in _PROPOSE.finditer(text):
        by = _BY.match(text, match.end())
        if by:
            name, end = _whole(text, by.end())
            if short_after(text, end):
                add(name, "call", by.end(), end)
    for match in _STEP.finditer(text):
        name, end = _whole(text, match.end())
        found_words = re.findall(r"\w+", name)
        if len(found_words) > 2 and found_words[-1].casefold() in _STEPS:
            add(name, "step", match.end(), end)
    for pattern, how in ((_CALL, "call"), (_REFER, "call"), (_USE, "use")):
        for match in pattern.finditer(text):
            verb = re.search(
                r"(?:called|named|termed|dubbed|coined|known|referred|denoted|abbreviated|which|that|what|we)\b",
                match[0],
                re.IGNORECASE,
            )
            if how == "call" and _OTHERS.search(
                text, max(0, match.start() - 60), match.start() + (verb.start() if verb else 0)
            ):
                continue
            name, end = _whole(text, match.end())
            add(name, how, match.end(), end)
    for match in _OUR.finditer(text):
        name, end = _whole(text, match.end())
        if name and any(c.isupper() for c in name):
            long = match[1].strip()
            if initials_match(name, long) and is_name(long):
                found.append(Term(long, "call", match.start(1), name))
            else:
                add(name, "call", match.end(), end)
    for match in _PARTS.finditer(text):
        at = match.end()
        for _ in range(6):
            at += len(_BEFORE_PART.match(text, at)[0])  # type: ignore[index]
            name, end = _whole(text, at)
            # "the positive and negative pair generation strategy" is one.
            single = name and " " not in name and name.casefold() not in HEADS
            joined = re.match(r"\s+and\s+", text[end:]) if single else None
            if joined:
                second, end = _whole(text, end + joined.end())
                name = f"{name} and {second}"
            add(name, "part", at, end)
            more = re.match(r"[^,;.]{0,100}?(?:[,;]\s*(?:and\s+)?|\s+and\s+)", text[end:])
            if name and not (more and is_name(_whole(text, end + more.end())[0])):
                more = _NEXT_PART.match(text[end:]) or more
            if not name or not more:
                break
            at = end + more.end()
    seen: set[tuple[str, ...]] = set()
    for term in sorted(found, key=lambda t: t.at):
        if key(term.name) not in seen:
            seen.add(key(term.name))
            yield term
