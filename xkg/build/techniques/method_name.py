"""The name of a paper's own method, by the agreement of title, abstract and "we propose …"."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xkg.build.paper.document import Document
from xkg.build.techniques.definitions import Reader
from xkg.build.techniques.names import clean, head, is_name, key, stem, words
from xkg.build.techniques.noun_phrases import noun_phrase
from xkg.build.techniques.section_roles import Part, Role

_NO_METHOD = frozenset(
    """
    understanding study survey review analysis perspective guide tutorial case look investigation evaluation
    benchmark benchmarks dataset datasets introduction challenge challenges evidence lessons view position
    report limits limitations theory performance problem problems setting generalization robustness framework
    task
    """.split()
)
_EMPTY_STARTS = re.compile(
    r"^(?:towards?|rethinking|understanding|exploring|improving|overcoming|revisiting|on|an? (?:study|"
    r"survey|analysis|review)|when|why|what|how|do|does|is|are|can|"
    r"beyond|discovering|investigating|evaluating|analyzing|characterizing|mitigating|reducing|"
    r"accelerating|enhancing|bridging|unlocking|demystifying|don't)\b",
    re.IGNORECASE,
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
_HOW = {"call": 1.6, "propose": 1.2, "use": 0.0, "step": 0.0, "part": 0.0, "define": 0.0, "emphasise": 0.0}
_ENOUGH = 4.5
_LIKE_A_NAME = re.compile(r"^[A-Z][\w+-]*+(?: [A-Z0-9][\w+-]*+)*+$")


@dataclass(frozen=True)
class Proposal:
    """`name` is the short name where there is one, else the full name; `aliases` are its other spellings in the paper,
    `naming` the sentences that propose it."""

    name: str
    aliases: tuple[str, ...]
    naming: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


def title_names(title: str) -> Iterable[tuple[str, float]]:
    """The parts of a title that may be the method's name, with scores."""
    before, colon, after = title.partition(":")
    before = before.strip()
    if colon and len(before.split()) <= 4 and is_name(before) and not _EMPTY_STARTS.match(before):
        yield (
            clean(before),
            3.5 if sum(c.isupper() for c in before) > len(before.split()) or len(before.split()) == 1 else 2.0,
        )
    for piece in filter(None, (before, after.strip())):
        for match in re.finditer(r"\b(?:via|by|using|with|through)\s+", piece, re.IGNORECASE):
            name, _ = noun_phrase(piece, match.end())
            if is_name(name):
                yield name, 1.5
        if _EMPTY_STARTS.match(piece):
            continue
        bare = re.sub(r"^(?:the|an?)\s+", "", piece, flags=re.IGNORECASE)
        name, end = noun_phrase(bare, 0)
        # "… Layers Are Key-Value Memories" states a result.
        if re.match(r"\s*(?:is|are|can|do|does|has|have|helps?|makes?|needs?)\b", bare[end:], re.IGNORECASE):
            continue
        if is_name(name) and len(words(name)) > 1:
            yield name, 2.0 if piece is before else 1.5


def _count(names: Iterable[str], reader: Reader) -> int:
    """The number of exact occurrences of the names."""
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


class _Ballot:
    """Scores of candidate names; an abbreviation and its long form are one candidate."""

    def __init__(self, shorts: Mapping[str, str]) -> None:
        self.shorts = shorts
        self.longs = {key(long): short for short, long in shorts.items()}
        self.candidates: dict[tuple[str, ...], _Candidate] = {}

    def vote(
        self, name: str, score: float, sentence: int | None = None, short: str | None = None, *, named: bool = False
    ) -> None:
        name = clean(name)
        long = self.shorts.get(name, name)
        identity = key(long)
        if not identity or head(long) in _NO_METHOD:
            return
        if short is not None and name not in self.shorts:
            self.longs.setdefault(identity, short)
        candidate = self.candidates.setdefault(identity, _Candidate())
        candidate.score += score
        candidate.named |= named
        for spelling in (self.longs.get(identity), name if name in self.shorts else None, long):
            if spelling and spelling not in candidate.spellings:
                candidate.spellings.append(spelling)
        if sentence is not None:
            candidate.naming.append(sentence)


def find(reader: Reader, parts: Sequence[Part], shorts: Mapping[str, str]) -> Proposal | None:
    """The paper's own method; None where it names none (an analysis, a survey, a benchmark)."""
    document: Document = reader.document
    ballot = _Ballot(shorts)
    once: set[tuple[tuple[str, ...], Role]] = set()
    for i in range(len(reader.sentences)):
        role = reader.role(i)
        weight = _WEIGHT.get(role, 0.0)
        for term in reader.terms[i] if weight else ():
            how = _HOW[term.how]
            seen = (key(term.name), role)
            if how:
                ballot.vote(
                    term.name, weight * how * (0.3 if seen in once else 1.0), i, term.short, named=term.how == "call"
                )
                once.add(seen)
    for name, score in title_names(document.title):
        ballot.vote(name, score)
    title = document.title.casefold()
    title_stems = set(key(document.title))
    body = " ".join(s.text for s in reader.sentences).casefold()
    headings = {key(clean(p.title)) for part in parts for p in part.walk() if p.role is Role.METHOD}
    captions = [key(clean(re.sub(r"\(.*", "", a.title))) for a in document.algorithms]
    best: _Candidate | None = None
    for identity, candidate in ballot.candidates.items():
        names = candidate.spellings
        titled = any(n.casefold() in title for n in names) or (len(identity) > 1 and title_stems.issuperset(identity))
        candidate.score += 2.5 * titled + (identity in headings) + any(identity == c[: len(identity)] for c in captions)
        candidate.score += 0.6 * math.log2(1 + _count(names, reader))
        candidate.score += 1.5 * any(_LIKE_A_NAME.match(n) and sum(c.isupper() for c in n) > 1 for n in names)
        # "a novel … method" describes the method, it does not name it.
        if not (titled or candidate.named or identity in headings) and not any(c.isupper() for n in names for c in n):
            candidate.score -= 2.0
        # "A forecasting method" does not name it either.
        if len(identity) == 1 and not any(c.isupper() for n in names for c in n):
            continue
        # A name from the title alone may be a field or a problem.
        is_used = any(n.casefold() in body for n in names) and head(names[-1]) not in ("models", "networks", "data")
        if not candidate.naming and (candidate.score < 6 or not is_used):
            continue
        if candidate.score >= _ENOUGH and (best is None or candidate.score > best.score):
            best = candidate
    if best is None:
        return None
    names = _distinct(best.spellings)
    if len(names) == 1 and sum(c.isupper() for c in names[0]) >= 2 and names[0].isalpha():
        names += _expansion(names[0], [document.title, *(p.title for part in parts for p in part.walk())])
    names.sort(key=lambda n: len(n.split()) > 1)
    return Proposal(names[0], tuple(names[1:]), tuple(dict.fromkeys(best.naming)))


def _distinct(spellings: Iterable[str]) -> list[str]:
    """One spelling of each name, the one with most capitals, without "approach", "method" and the like at the end."""
    out: dict[tuple[str, ...], str] = {}
    for name in sorted(filter(None, spellings), key=lambda n: -sum(c.isupper() for c in n)):
        bare = re.sub(
            r"(?<!\s)\s++(?:approach|method|framework|algorithm|technique|procedure|strategy|system|model)$", "", name
        )
        out.setdefault(key(name), bare if is_name(bare, proper=True) else name)
    return list(out.values())


def _expansion(short: str, titles: Iterable[str]) -> list[str]:
    """The long form of `short`: consecutive words of a title with its letters as initials."""
    letters = [c.casefold() for c in short if c.isalpha()]
    for title in titles:
        found = list(re.finditer(r"[^\W_]+", title))
        for i in range(len(found) - len(letters) + 1):
            if [m[0][0].casefold() for m in found[i : i + len(letters)]] == letters:
                start, end = found[i].start(), found[i + len(letters) - 1].end()
                if title[max(0, start - 1) : start] != "-" and title[end : end + 1] != "-":
                    return [title[start:end]]
    return []
