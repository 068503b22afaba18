"""Finds the name of a paper's own method. Compares the title, the abstract and sentences such as "we propose …"."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xkg.build.paper.document import Document
from xkg.build.techniques.definitions import Reader
from xkg.build.techniques.evidence import is_data
from xkg.build.techniques.introduced import noun_phrase
from xkg.build.techniques.names import clean, head, is_name, key, stem, words
from xkg.build.techniques.section_roles import Part, Role

_NO_METHOD = frozenset(
    """
    understanding study survey review analysis perspective guide tutorial case look investigation evaluation
    benchmark benchmarks dataset datasets introduction challenge challenges evidence lessons view position
    report limits limitations theory performance problem problems setting generalization robustness framework
    task
    """.split()
)
_WEIGHT = {
    Role.ABSTRACT: 3.0,
    Role.INTRODUCTION: 2.0,
    Role.METHOD: 1.5,
    Role.CONCLUSION: 1.0,
    Role.DISCUSSION: 0.7,
    Role.RELATED: 0.5,
    Role.BACKGROUND: 0.7,
}
_HOW = {"call": 1.6, "propose": 1.2}
_ENOUGH = 4.5


@dataclass(frozen=True)
class Proposal:
    """The paper's own method. `name` is the method's short name, or its full name if there is no short one. `aliases`
    contains other spellings in the paper. `naming` contains the sentences that propose the method."""

    name: str
    aliases: tuple[str, ...]
    naming: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


def title_names(title: str) -> Iterable[tuple[str, float]]:
    """Yields the parts of a title that may be the method's name. Each part has a score."""
    before, colon, after = title.partition(":")
    before = before.strip()
    if colon and len(before.split()) <= 4 and is_name(before):
        yield (
            clean(before),
            3.5 if sum(c.isupper() for c in before) > len(before.split()) or len(before.split()) == 1 else 2.0,
        )
    for piece in filter(None, (before, after.strip())):
        bare = re.sub(r"^(?:the|an?)\s+", "", piece, flags=re.IGNORECASE)
        name, _ = noun_phrase(bare, 0)
        if is_name(name) and len(words(name)) > 1:
            yield name, 2.0 if piece is before else 1.5


def _count(names: Iterable[str], reader: Reader) -> int:
    """Counts the exact occurrences of the names in the paper."""
    total = 0
    for name in set(names):
        pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        sentences = reader.having([stem(w) for w in words(name)])
        total += sum(len(pattern.findall(reader.sentences[i].text)) for i in sentences)
    return total


@dataclass
class _Candidate:
    spellings: list[str] = field(default_factory=list)
    score: float = 0.0
    naming: list[int] = field(default_factory=list)
    named: bool = False


def _candidates(reader: Reader, shorts: Mapping[str, str]) -> dict[tuple[str, ...], _Candidate]:
    """Returns names from the title and names that sentences propose or introduce. An abbreviation and its long form are
    a single candidate."""
    short_of = {key(long): short for short, long in shorts.items()}
    found: dict[tuple[str, ...], _Candidate] = {}

    def vote(name: str, score: float, short: str | None = None) -> _Candidate:
        name = clean(name)
        long = shorts.get(name, name)
        if short is not None:
            short_of.setdefault(key(long), short)
        candidate = found.setdefault(key(long), _Candidate())
        candidate.score += score
        for spelling in (short_of.get(key(long)), name, long):
            if spelling and spelling not in candidate.spellings:
                candidate.spellings.append(spelling)
        return candidate

    once: set[tuple[tuple[str, ...], Role]] = set()
    for i in range(len(reader.sentences)):
        role = reader.role(i)
        for term in reader.terms[i] if role in _WEIGHT else ():
            seen = (key(term.name), role)
            score = _WEIGHT[role] * _HOW[term.how] * (0.3 if seen in once else 1.0)
            candidate = vote(term.name, score, term.short)
            candidate.named |= term.how == "call"
            candidate.naming.append(i)
            once.add(seen)
    for name, score in title_names(reader.document.title):
        vote(name, score)
    return {i: c for i, c in found.items() if i and not _NO_METHOD.issuperset(map(head, c.spellings))}


def find(reader: Reader, parts: Sequence[Part], shorts: Mapping[str, str]) -> Proposal | None:
    """Finds the paper's own method. Returns None if the paper does not name a method, for example because the paper is
    a survey or an analysis."""
    document: Document = reader.document
    title = document.title.casefold()
    title_stems = set(key(document.title))
    body = " ".join(s.text for s in reader.sentences).casefold()
    headings = {key(clean(p.title)) for part in parts for p in part.walk() if p.role is Role.METHOD}
    captions = [key(clean(re.sub(r"\(.*", "", a.title))) for a in document.algorithms]
    best: _Candidate | None = None
    for identity, candidate in _candidates(reader, shorts).items():
        names = candidate.spellings
        titled = any(n.casefold() in title for n in names) or (len(identity) > 1 and title_stems.issuperset(identity))
        captioned = any(identity == c[: len(identity)] for c in captions)
        candidate.score += 2.5 * titled + (identity in headings) + captioned
        candidate.score += 0.6 * math.log2(1 + _count(names, reader))
        # "A novel … method" describes the method but does not name it.
        if not (titled or candidate.named or identity in headings) and not any(c.isupper() for n in names for c in n):
            continue
        # "A forecasting method" does not name the method.
        plain = all(n.islower() and " " not in _bare(n) for n in names)
        if plain or (len(identity) == 1 and not any(c.isupper() for n in names for c in n)):
            continue
        if any(is_data(reader, n) for n in names):
            continue
        # A name that occurs only in the title may be the name of a field or a problem.
        is_used = any(n.casefold() in body for n in names) and head(names[-1]) not in ("models", "networks", "data")
        before, colon, _ = document.title.partition(":")
        named = identity in headings or captioned or (bool(colon) and before.strip() in names)
        if not candidate.naming and (candidate.score < 6 or not is_used or not named):
            continue
        if candidate.score >= _ENOUGH and (best is None or candidate.score > best.score):
            best = candidate
    if best is None:
        return None
    title_name = document.title.partition(":")[0]
    names = sorted(_distinct(best.spellings), key=lambda name: (" " in name, name != title_name))
    return Proposal(names[0], tuple(names[1:]), tuple(dict.fromkeys(best.naming)))


def _bare(name: str) -> str:
    return re.sub(
        r"(?<!\s)\s++(?:approach|method|framework|algorithm|technique|procedure|strategy|system|model)$", "", name
    )


def _distinct(spellings: Iterable[str]) -> list[str]:
    """Removes different spellings of the same name. Keeps the spelling with the most capitals, without a final word
    such as "approach" or "method"."""
    out: dict[tuple[str, ...], str] = {}
    for name in sorted(filter(None, spellings), key=lambda n: -sum(c.isupper() for c in n)):
        bare = _bare(name)
        named = is_name(bare, proper=True) and (" " in bare or any(c.isupper() for c in bare))
        out.setdefault(key(name), bare if named else name)
    return list(out.values())
