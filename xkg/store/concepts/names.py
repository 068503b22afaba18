"""Normalises technique names, so that different names for the same concept match.

"Low-Rank Adaptation (LoRA)", "LoRA" and "low rank adaptations" match, but generic names such as "Training" do not.
Abbreviations are distinguished from other text in parentheses using the method of Schwartz and Hearst, "A simple
algorithm for identifying abbreviation definitions in biomedical text", Pacific Symposium on Biocomputing 2003."""

import functools
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

# A `+` or `*` at the end of a word indicates a variant (k-means++). A `+` or `*` inside or before a word joins two
# parts (TD3+BC).
_WORD = re.compile(r"[^\W_]+|(?<=\w)[+*]+(?![\w+*])")
_SIGNS = {"+": "plus", "*": "star"}
_PARENTHESES = re.compile(r"^(.*?)[(\[]([^()\[\]]+)[)\]](.*)$", re.DOTALL)
_LONGEST_SHORT = 12
# These words can describe part of any method. A name that consists only of these words does not identify a concept.
_GENERIC = frozenset(
    """
    a ablation adaptation aggregation algorithm analysis and approach architecture attention augmentation background
    backbone baseline benchmark block classification classifier collection component computation condition conditioning
    configuration construction criterion data dataset decoder decoding definition design detail embedding encoder
    encoding end estimation estimator evaluation experiment experimental extraction feature final fine finetuning first
    for formulation framework function generation generator gradient head hyperparameter implementation in inference
    initialization input iteration layer learning loss main measure mechanism method methodology metric model modeling
    module network neural notation objective of optimization optimizer our output overall overview parameter phase
    pipeline policy postprocessing prediction predictor preliminary preprocessing pretraining problem procedure process
    processing proposed protocol regularization representation result sampler sampling scheme search second selection
    setting setup stage step strategy structure system target task technique test testing the theory third time to total
    training transformation tuning two update validation variant with
    """.split()
)
# These words are redundant at the end of a name. For example, "Adam optimizer" means "Adam".
_EMPTY = frozenset(
    "algorithm approach framework mechanism method methodology optimizer procedure scheme strategy".split()
)


@dataclass(frozen=True)
class Names:
    """The forms of a technique's name. `telling` forms identify a concept without further evidence. `terse` forms are
    single words and abbreviations, which may have a different meaning in other fields. A name that consists only of
    generic words has no forms."""

    telling: frozenset[str]
    terse: frozenset[str]

    def conflict(self, other: "Names") -> bool:
        """Returns whether both techniques have spelt-out names and these names differ. In that case, a shared
        abbreviation is a coincidence."""
        return bool(self.telling and other.telling) and not self.telling & other.telling


NO_NAMES = Names(frozenset(), frozenset())


def names(name: str, aliases: Iterable[str] = ()) -> Names:
    """Returns the forms of a name and its aliases."""
    telling: set[str] = set()
    terse: set[str] = set()
    for spelling in (name, *aliases):
        for form in _forms(spelling):
            words = _words(form)
            while words and words[-1] in _EMPTY:
                words.pop()
            if not words or all(word in _GENERIC or word.isdigit() or len(word) < 2 for word in words):
                continue
            (terse if len(words) == 1 or _is_abbreviated(form) else telling).add("".join(words))
    return Names(frozenset(telling), frozenset(terse))


def is_short_form(short: str, long: str) -> bool:
    """Returns whether `short` is an abbreviation of `long`. The letters in `short` must occur in `long` in the same
    order, and the first letter must be at the start of a word."""
    short = re.sub(r"s$", "", short.strip()) if re.search(r"[A-Z]s$", short.strip()) else short.strip()
    letters = [c for c in short.casefold() if c.isalnum()]
    if not (2 <= len(letters) <= _LONGEST_SHORT and any(c.isupper() for c in short) and len(short.split()) <= 2):
        return False
    text = long.casefold()
    place = len(text)
    for letter in reversed(letters[1:]):
        place = text.rfind(letter, 0, place)
        if place < 0:
            return False
    return any(
        text[at] == letters[0] and (at == 0 or not text[at - 1].isalnum()) for at in range(min(place, len(text)))
    )


def spelt(text: str) -> str:
    """Replaces Greek letters with their names, because papers use both."""
    if text.isascii():
        return text
    # The range of capitals is split, because it contains an unassigned code point.
    return re.sub("[Α-Ρ\u03a3-Ωα-ω]", lambda letter: unicodedata.name(letter[0]).split()[3].lower(), text)


def _forms(name: str) -> list[str]:
    match = _PARENTHESES.match(name)
    if match is None:
        return [name]
    before, inside, after = (part.strip() for part in match.groups())
    if len(inside) < len(before) and is_short_form(inside, before):
        return [f"{before} {after}", f"{inside} {after}"]
    if is_short_form(before, inside):
        return [f"{inside} {after}", f"{before} {after}"]
    return [name]


def _is_abbreviated(form: str) -> bool:
    """Returns whether the name is one token with at least two capitals in one of its parts, such as TD3+BC or GPT-2."""
    capitals = (sum(c.isupper() for c in part) for part in re.split(r"[\W_]", form.strip()))
    return len(form.split()) == 1 and max(capitals) > 1


def _words(text: str) -> list[str]:
    plain = re.sub(r"\b([A-Z]{2,})s\b", r"\1", unicodedata.normalize("NFKC", text))
    return [_base(word) for word in _WORD.findall(spelt(plain).casefold())]


@functools.lru_cache(20_000)
def _base(word: str) -> str:
    return "".join(_SIGNS.get(c, c) for c in _stem(word))


def _stem(word: str) -> str:
    """Normalises plural to singular and British to American spelling."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "as")):
        word = word[:-1]
    if "is" in word and len(word) > 5:
        word = re.sub(r"is(e|ed|er|ing|ation)$", r"iz\1", word)
    return re.sub(r"ll(ed|er|ing)$", r"l\1", word) if "ll" in word else word
