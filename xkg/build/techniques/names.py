"""Decides whether a text can be a technique's name, and whether two names refer to the same technique.

Abbreviations are matched with their long forms as in Schwartz and Hearst, "A simple algorithm for identifying
abbreviation definitions in biomedical text", PSB 2003."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

from xkg.build.techniques.word_lists import (
    ABOUT,
    ACTIONS,
    ADJECTIVES,
    GENERIC,
    HEADS,
    LITTLE,
    NOT_HEADS,
    NUMBERS,
    SAME_KIND,
    STOP,
    TECHNIQUES_NONETHELESS,
    VERBS,
)

MAX_WORDS = 7
_LONGEST_FORM = 200  # characters in an abbreviation's long form
_LOWER = r"[^\W\d_]"
PREPOSITION = re.compile(r"\s(?:of|for|in|on|with|by|via|using|to|from|as|over|under|through|based)\s", re.IGNORECASE)
_PLURALS = re.compile(r"(?<=[^\W\d_]{2}[^\W\d_s])s$")
_SUFFIX = re.compile(r"(?<=\w{4})(?:ization|isation|ation|ition|tion|ion|ing|ed|er|or|ers|ors|ize|ise|ment|al|ive)$")


_FORMULA = re.compile(r"\$([^$]*)\$")
# Matches a letter with its subscript or superscript, such as "\mathcal{H}", "\beta", "W_{1}" or "\ell_1".
_SYMBOL = re.compile(
    r"(?:\\(?:math(?:bf|bb|cal|rm|sf|frak|scr)|bm|boldsymbol|hat|tilde|bar)\s*+\{?\s*+)*+"
    r"(?:([A-Za-z])|\\([a-z]{2,7}))\}*+\s?(?:([_^])\s?\{?\s?(\w)\s?\}?)?"
)


def words(name: str) -> list[str]:
    """Returns the case-folded words of a name, split at hyphens."""
    folded = unicodedata.normalize("NFKC", name).casefold().replace("’", "'")
    return re.findall(r"[^\W_]+(?:'[^\W_]+)?", folded)


def stem(word: str) -> str:
    """Removes the plural and other common endings from a folded word. The result is used only for comparisons."""
    return _SUFFIX.sub("", _PLURALS.sub("", word.removesuffix("'s")))


_KIND_STEMS = frozenset(map(stem, SAME_KIND))
_PRAISE_STEMS = frozenset(map(stem, ("proposed", "novel", "new", "overall", "simple")))


@lru_cache(maxsize=8192)
def key(name: str) -> tuple[str, ...]:
    """Returns the stems of a name's distinctive words, in order. Names with equal keys refer to the same technique."""
    stems: list[str] = []
    # "Mirror update in games" is the same as "mirror in games".
    for part in PREPOSITION.split(re.sub(r"\([^()]*\)", " ", name), maxsplit=1):
        stems += [stem(w) for w in words(part) if w not in LITTLE]
        while len(stems) > 1 and stems[-1] in _KIND_STEMS:
            stems.pop()
    while len(stems) > 1 and stems[0] in _PRAISE_STEMS:
        stems.pop(0)
    return tuple(stems)


def is_proper(text: str) -> bool:
    """Returns whether `text` is written like a proper name inside a sentence, such as "Test-Time Training" or
    "iCaRL"."""
    return (
        bool(text)
        and all(w[0].isupper() or any(c.isupper() for c in w) or w in LITTLE for w in text.split())
        and (len(text.split()) > 1 or sum(c.isupper() for c in text) > 1 or "-" in text)
    )


def is_name(text: str, *, proper: bool = False) -> bool:
    """Returns whether `text` can name a technique. A name is a noun phrase of one to seven words with at least one
    specific word. If `proper` is True, a capitalised name in running text is accepted, too."""
    found = words(text)
    if not found or len(text) > 90 or len(re.sub(r"\([^()]*\)", " ", text).split()) > MAX_WORDS:
        return False
    if not any(len(w) > 1 and re.search(_LOWER, w) for w in found) or re.search(r"[?!=<>{}\\|]|\. ", text):
        return False
    if re.match(
        r"(?:figure|table|theorem|lemma|eq|equation|section|appendix|proposition|corollary|algorithm)s?\b[ .]*\d",
        text,
        re.I,
    ):
        return False
    symbol = re.search(r"\s[A-Z]$", text)
    if found[0] in STOP - {"using", "over", "under", "per", "based"} or (found[-1] in STOP | LITTLE and not symbol):
        return False
    if any(w in VERBS for w in found) or re.search(r"\b(?:19|20)\d\d\b|et al|\bhttps?\b|\b(?:vs|versus)\b", text):
        return False
    if text.split()[0].casefold() in NUMBERS and found[-1].endswith("s"):
        return False
    plain = GENERIC | LITTLE | ADJECTIVES
    return any(w not in plain and len(w) > 1 for w in found) or (proper and is_proper(text))


def head(name: str) -> str:
    """Returns the head noun of a name, which is the last word before a preposition such as "of", "for" or "with"."""
    core = PREPOSITION.split(re.sub(r"\([^()]*\)", " ", name))[0]
    found = words(core)
    # The head noun of "weight matrix W" is "matrix".
    if len(found) > 1 and re.search(r"\s[A-Z]$", core):
        found.pop()
    return found[-1] if found else ""


def is_no_technique(name: str) -> bool:
    """Returns whether the head noun of a name refers to something other than a technique, such as a result or a
    topic."""
    if " ".join(words(name)[-2:]) in TECHNIQUES_NONETHELESS:
        return False
    last = head(name)
    return bool({last, stem(last), last.removesuffix("s")} & NOT_HEADS)


def is_method_like(name: str) -> bool:
    """Returns whether the head noun of a name refers to something that can be built or run, such as a module, a loss, a
    procedure or an action."""
    last = head(name)
    if is_no_technique(name):
        return False
    if " ".join(words(name)[-2:]) in TECHNIQUES_NONETHELESS:
        return True
    first = name.split()[0].casefold() if name.split() else ""
    return (
        last in HEADS
        or (last in ("variant", "version") and len(words(name)) > 2)
        or _PLURALS.sub("", last) in HEADS
        or last.removesuffix("es") in HEADS
        or bool(
            re.search(
                r"(?:ization|isation|ation|ition|ction|sion|ption|izer|ifier|ater|ator|ment|former|coder|ing)s?$", last
            )
        )
        or (first.endswith("ing") and len(first) > 5)
    )


def clean(title: str) -> str:
    """Returns the name in a heading or caption. Removes numbering, articles and final punctuation. The result may be
    empty."""
    text = " ".join(title.replace("~", " ").split()).strip(" .:;,-–—*_#")
    text = re.sub(r"^(?:\(?[A-Z]?\d+(?:\.\d+)*[.):]?|[A-Z]\.|[IVX]+\.|\([a-z]\))\s+", "", text)
    # Removes "Step 2" and "Round 1" from titles such as "Step 2 (dictionary refinement)" and "Round 1: construction".
    text = re.sub(r"^[^\W\d_]+\s\d+\s?\(([^()]+)\)$", r"\1", text)
    text = re.sub(r"^[^\W\d_]+\s(?:\d+|[IVX]+|[A-Z])(?:\s?[:.–—]\s?|\s-\s)(?=\w)", "", text)
    text = re.sub(
        r"^(?:step|stage|phase|part|algorithm|module|component|technique|method|idea|background|"
        r"preliminar\w+|application|case study|example)(?:\s[ivx]+)?(?:\s?[:.–—]\s?|\s-\s)",
        "",
        text,
        flags=re.IGNORECASE,
    )
    text = re.sub(r"^(?:the|our|an?|proposed|overall|general)\s+", "", text, flags=re.IGNORECASE)
    text = re.sub(r"^(?:the|our|an?|proposed|overall|general)\s+", "", text, flags=re.IGNORECASE)
    return text.strip(" .:;,-–—*_")


def plain_title(title: str) -> str:
    """Removes the mathematical symbols from a heading or caption such as "Neighbour sampling $S_N$".

    Keeps single letters as words. Before other words, also keeps letters with a subscript or superscript: "$W_1$
    distance" becomes "W_1 distance". Returns '' if an action's only object is a formula ("Compute $x^{t+1}$ for
    GD")."""

    def plain(match: re.Match[str]) -> str:
        if not (symbol := _SYMBOL.fullmatch(match[1].strip())):
            return ""
        letter, greek, *script = (each or "" for each in symbol.groups())
        if re.match(r"[\s-]+\w", title[match.end() :]):
            return "".join((letter, greek, *script))
        return greek if script[0] else letter + greek

    text = " ".join(_FORMULA.sub(plain, title).split())
    first = re.match(r"([^\W\d_]+)(\.?)\s*\$", title)
    after = PREPOSITION.match(f" {text[first.end(2) :].strip()} ") if first else None
    if first and (first[2] or (after and words(first[1])[0] in ACTIONS)):
        return ""
    # Removes the remains of formulas from titles such as "Line search ($S_2^t$)", "Pre-training (all sites, $n = 156$)"
    # and "Line search for $x^{t+1}$".
    text = re.sub(r"\s?\((?:[^()]{0,60},)?\s?\)", "", text)
    return re.sub(rf"{PREPOSITION.pattern}$", "", f"{text} ", flags=re.IGNORECASE).strip()


def about(title: str) -> str:
    """Returns X for a heading such as "Framework of X", "Overview of X" or "X in detail". Returns any other title
    unchanged."""
    match = re.match(
        r"(?:[\w-]+\s+)?([\w-]+)\s+(?:of|for|behind)\s+(?:the\s+|our\s+)?(?:proposed\s+)?(.+)", title, re.IGNORECASE
    )
    if match and match[1].casefold() in ABOUT:
        return match[2]
    return re.sub(
        r"(?<!\s)\s++(?:in detail|in a nutshell|at a glance|details|overview)$", "", title, flags=re.IGNORECASE
    )


def initials_match(short: str, long: str) -> bool:
    """Returns whether the letters of `short` occur in `long` in the same order. The first letter must be at the start
    of `long`, and at least half of the letters must be at the start of a word."""
    letters = [c for c in short.casefold() if c.isalnum()]
    text = long.casefold()
    if not letters or not text or text[0] != letters[0] or len(words(long)) > len(letters) + 4:
        return False
    starts = {m.start() for m in re.finditer(r"[^\W_]+", text)}
    at, used = 0, 0
    for letter in letters:
        found = min((s for s in starts if s >= at and text[s] == letter), default=-1)
        if found < 0:
            found = text.find(letter, at)
        else:
            used += 1
        if found < 0:
            return False
        at = found + 1
    return used >= max(1, (len(letters) + 1) // 2)


_REVERSED = re.compile(r"(?<![\w-])([A-Z][\w+-]{1,11})\s?\(([^\W\d_][^(),;:]{5,80}+)\)")
SHORT = r"[^\W_A-Z]*+[A-Z][\w+\-]*(?: [A-Z0-9][\w+\-]*)?"


def abbreviations(texts: Iterable[str]) -> dict[str, str]:
    """Maps short forms to long forms. Finds each "long form (SHORT)" and "SHORT (long form)" with matching letters. The
    first definition of a short form wins."""
    out: dict[str, str] = {}
    for text in texts:
        if "(" not in text:
            continue
        for match in _REVERSED.finditer(text):
            if initials_match(match[1], match[2]) and sum(c.isupper() for c in match[1]) > 1:
                out.setdefault(match[1], match[2].strip())
        for match in re.finditer(rf"\(\s*+({SHORT}?)s?\s*+(?:[,;][^()]*+)?\)", text):
            short = match[1]
            if short in out or not 2 <= len(short) <= 15 or sum(c.isupper() for c in short) < 2:
                continue
            before = re.split(r"[,;:.()]\s", text[max(0, match.start() - _LONGEST_FORM) : match.start()])[-1].split()
            letters = sum(c.isalnum() for c in short)
            for n in range(1, min(len(before), letters + 3) + 1):
                long = " ".join(before[-n:]).strip("\"“”'*")
                if long[:1].isalpha() and words(long)[0] not in LITTLE and initials_match(short, long):
                    wider = " ".join(before[-n - 1 :]) if n < len(before) else ""
                    missing = len(words(long)) < letters - 1
                    out[short] = wider if missing and initials_match(short, wider) else long
                    break
    return out


def resolve(name: str, shorts: Mapping[str, str]) -> str:
    """Expands the abbreviations in `name`. The result is used only for comparisons."""
    return " ".join(shorts.get(w, w) for w in name.split())
