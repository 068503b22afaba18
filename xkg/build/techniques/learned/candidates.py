"""Everything in a paper that could be the name of a technique: many times more than are.

Candidates are headings of all sections and what they are about, captions of algorithms, titles of definitions, parts of
the paper's title, names that sentences introduce or displays define, emphasised terms, abbreviations with their long
forms, and noun phrases: runs of words between function words, as in Justeson and Katz (see `noun_phrases`). `choice`
says which are techniques."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xkg.build.techniques.algorithms import caption_name
from xkg.build.techniques.definitions import Reader
from xkg.build.techniques.headings import plain_title
from xkg.build.techniques.method_name import title_names
from xkg.build.techniques.names import about, clean, is_name, key, words
from xkg.build.techniques.noun_phrases import noun_phrase
from xkg.build.techniques.objectives import equation_names
from xkg.build.techniques.section_roles import Part, Role
from xkg.build.techniques.word_lists import STOP, VERBS

# Kinds of which a candidate may be; a phrase alone is the weakest evidence.
PHRASE = "phrase"
CAPTION = "caption"
DEFINITION = "definition"  # the title of one: "Definition 2 (Partial weight)"
MOST_CANDIDATES = 3000
_LONGEST_CAPTION = 400
_MOST_WORDS = 6
_TOKEN = re.compile(r"\$[^$]*+\$|\([^()]*+\)|[^\W_][\w'’+-]*+|[^\w\s]")
_ENDS_PHRASE = (
    STOP
    | VERBS
    | frozenset(
        "the a an our its their this these that such each any all some several two three four every both no of".split()
    )
)
_NOUNS_IN_LY = frozenset({"assembly", "family", "anomaly"})
_WITHIN = re.compile(r"\b(?:via|by|using|with|through|of|for)\s")
_TITLED = re.compile(r"Definition(?: [\w.]{1,20}+)? \(([^()]{2,200}+)[()]")
_WITH_SHORT = re.compile(r"([^()]{2,200})\(\s?([\w+-]{1,20})\s?\)")


@dataclass(eq=False)
class Candidate:
    """A name with the `kinds` of places that give it, their `offsets`, and the `headings` whose words it is."""

    name: str
    short: str | None = None
    kinds: Counter[str] = field(default_factory=Counter)
    offsets: list[int] = field(default_factory=list)
    headings: list[Part] = field(default_factory=list)
    spellings: Counter[str] = field(default_factory=Counter)

    @property
    def names(self) -> list[str]:
        return [self.name, self.short] if self.short else [self.name]


class _Collection:
    def __init__(self, shorts: Mapping[str, str]) -> None:
        self.shorts = shorts
        self.by_key: dict[tuple[str, ...], Candidate] = {}

    def add(self, name: str, kind: str, offset: int, *, part: Part | None = None, short: str | None = None) -> None:
        name = clean(name)
        if not is_name(name, proper=True):
            return
        long = self.shorts.get(name)
        identity = key(long or name)
        if not identity or (identity not in self.by_key and len(self.by_key) >= MOST_CANDIDATES):
            return
        candidate = self.by_key.setdefault(identity, Candidate(long or name))
        candidate.short = candidate.short or (name if long else short)
        candidate.kinds[kind] += 1
        candidate.offsets.append(offset)
        candidate.spellings[name] += 1
        if part is not None:
            candidate.headings.append(part)


def candidates(reader: Reader, parts: Sequence[Part], shorts: Mapping[str, str]) -> list[Candidate]:
    """The candidates of a paper, those with the most reliable kinds of places first."""
    found = _Collection(shorts)
    for part in (p for top in parts for p in top.walk()):
        if part.role is not Role.ABSTRACT:
            _add_heading(found, part)
    for algorithm in reader.document.algorithms:
        if algorithm.title:
            found.add(caption_name(algorithm.title), "algorithm", algorithm.start)
    for aside in reader.document.asides:
        if aside.kind == "statement" and (titled := _TITLED.match(aside.text)):
            found.add(titled[1], DEFINITION, aside.start)
    for name, _ in title_names(reader.document.title):
        found.add(name, "title", 0)
    for short, long in shorts.items():
        found.add(long, "abbreviation", 0, short=short)
    for i, sentence in enumerate(reader.sentences):
        for term in reader.terms[i]:
            found.add(term.name, term.how, sentence.start, short=term.short)
        for term in equation_names(reader.document, sentence):
            found.add(term.name, "define", sentence.start, short=term.short)
        _add_emphases(found, reader, i)
    for aside in reader.document.asides:
        if aside.kind == "caption":
            for phrase in phrases(aside.text[:_LONGEST_CAPTION]):
                if " " in phrase:
                    found.add(phrase, CAPTION, aside.start)
    for sentence in reader.sentences:
        for phrase in phrases(sentence.text):
            count = len(phrase.split())
            if 1 < count <= _MOST_WORDS or (count == 1 and sum(c.isupper() for c in phrase) > 1):
                found.add(phrase, PHRASE, sentence.start)
    return list(found.by_key.values())


def phrases(text: str) -> Iterator[str]:
    """The runs of words between function words, verbs, formulas and punctuation."""
    run: list[str] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        folded = token.casefold()
        adverb = folded.endswith("ly") and folded not in _NOUNS_IN_LY
        if not token[0].isalnum() or folded in _ENDS_PHRASE or adverb:
            if run:
                yield " ".join(run)
            run = []
        else:
            run.append(token)
    if run:
        yield " ".join(run)


def _add_heading(found: _Collection, part: Part) -> None:
    title = plain_title(part.title)
    kind = "run-in" if part.run_in else "section" if part.level == 1 else "subsection"
    before, colon, after = title.partition(":")
    for name in dict.fromkeys((title, about(clean(title)), *((before, after) if colon else ()))):
        match = _WITH_SHORT.fullmatch(clean(name))
        found.add(match[1] if match else name, kind, part.start, part=part, short=match[2] if match else None)
    for within in _WITHIN.finditer(title):
        found.add(noun_phrase(title, within.end())[0], "within", part.start, part=part)


def _add_emphases(found: _Collection, reader: Reader, i: int) -> None:
    sentence, emphases = reader.sentences[i], reader.document.emphases
    for n in range(bisect_left(emphases, sentence.start, key=lambda e: e.start), len(emphases)):
        emphasis = emphases[n]
        if emphasis.start >= sentence.end:
            break
        name = " ".join(emphasis.text.split())
        opens = bool(words(name)) and sentence.text.startswith(name)
        found.add(name, "opening" if opens else "emphasis", emphasis.start)
