"""What speaks for and against a candidate's being a technique, as numbers.

Counts are as their logarithms; a feature that a candidate lacks is absent, which is 0."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from xkg.build.techniques.definitions import Reader
from xkg.build.techniques.learned.candidates import CAPTION, PHRASE, Candidate
from xkg.build.techniques.names import head, is_adjective, is_method_like, is_no_technique, is_proper, key, words
from xkg.build.techniques.section_roles import Part, Role
from xkg.build.techniques.word_lists import ACTIONS, GENERIC, QUANTITIES, STEPS

_OURS = re.compile(r"\b(?:[Ww]e|[Oo]ur)\b")
_ACTS = re.compile(
    r"\bwe (?:\w+ )?(?:propose|introduce|use|apply|train|compute|construct|sample|employ|define|find|search|stack|"
    r"extract|select|measure|update|initiali[sz]e|optimi[sz]e|minimi[sz]e|adopt|develop|design|add|perform|generate|"
    r"obtain)\b",
    re.IGNORECASE,
)
_CITATION = re.compile(  # behind a name
    r"\w{0,40}+\W{0,4}(?:\([A-Z][\w+-]{1,12}\)\s*+)?(?:[a-z]{1,40}+\b)?\W{0,3}?[~\s]*+"
    r"(?:\\[cC]ite|\(\s*+(?:e\.g\.,? )?[A-Z][^()]{0,400}\d{4}|\[\d)"
)
_PLURAL = re.compile(r"[^s]s$")
_COUNTED_ROLES = tuple(role for role in Role if role not in (Role.DETAILS, Role.BACK))
_MOST_CITATIONS = 12  # mentions that are looked at for one
_MOST_CAPITALS = 4


class Features:
    """The features of the candidates of one paper."""

    def __init__(self, reader: Reader, candidates: Sequence[Candidate]) -> None:
        self.reader = reader
        self.roles = [reader.role(i) for i in range(len(reader.sentences))]
        self.title = set(key(reader.document.title))
        self.has_method = Role.METHOD in self.roles
        self.mentions = {c: self._mentions(c) for c in candidates}
        self.most_mentions = max(map(len, self.mentions.values()), default=0)
        by_key = {key(c.name): c for c in candidates}
        self.in_others: Counter[tuple[str, ...]] = Counter()
        self.most_within: dict[tuple[str, ...], int] = {}
        for whole in by_key:
            for start in range(len(whole)):
                for end in range(start + 1, len(whole) + 1):
                    part = whole[start:end]
                    if part != whole and part in by_key:
                        self.in_others[part] += 1
                        count = len(self.mentions[by_key[part]])
                        self.most_within[whole] = max(count, self.most_within.get(whole, 0))

    def _mentions(self, candidate: Candidate) -> list[int]:
        found = self.reader.having(key(candidate.name))
        if candidate.short:
            pattern = re.compile(rf"(?<!\w){re.escape(candidate.short)}(?!\w)")
            found = found | {
                i
                for i, sentence in enumerate(self.reader.sentences)
                if candidate.short in sentence.text and pattern.search(sentence.text)
            }
        return sorted(found)

    @cached_property
    def _ours(self) -> list[bool]:
        return [bool(_OURS.search(s.text)) for s in self.reader.sentences]

    @cached_property
    def _acting(self) -> list[bool]:
        return [bool(_ACTS.search(s.text)) for s in self.reader.sentences]

    def of(self, candidate: Candidate) -> dict[str, float]:
        """The features of one candidate by name."""
        return {
            **self._kinds(candidate),
            **self._heading(candidate),
            **self._occurrences(candidate),
            **self._name(candidate),
        }

    def _kinds(self, candidate: Candidate) -> dict[str, float]:
        kinds = candidate.kinds
        return {
            **{f"kind: {kind}": 1.0 for kind in kinds},
            "times proposed": math.log1p(kinds["call"] + kinds["propose"]),
            "times used": math.log1p(kinds["use"]),
            "times emphasised": math.log1p(kinds["emphasis"]),
            "times in captions": math.log1p(kinds[CAPTION]),
            "times a phrase": math.log1p(kinds[PHRASE]),
            "kinds": float(len(set(kinds) - {PHRASE})),
        }

    def _heading(self, candidate: Candidate) -> dict[str, float]:
        if not candidate.headings:
            return {}
        part: Part = candidate.headings[0]
        sentences = self.reader.sentences
        algorithms = self.reader.document.algorithms
        return {
            f"heading: {part.role}": 1.0,
            "heading: of appendix": float(part.appendix),
            "heading: of a kind": float(part.labelled),
            "heading: has headings": float(bool(part.children)),
            "heading: below method": float(part.parent is not None and part.parent.role is Role.METHOD),
            "heading: sentences": math.log1p(len(part.sentences)),
            "heading: actions": math.log1p(len(_ACTS.findall(self.reader.text(part.sentences)))),
            "heading: displays": math.log1p(sum(sentences[i].display for i in part.sentences)),
            "heading: algorithm": float(any(part.start <= a.start < part.end for a in algorithms)),
            "heading: one word": float(len(words(candidate.name)) == 1),
            "heading: like a method": float(is_method_like(candidate.name)),
            "heading: no technique": float(is_no_technique(candidate.name)),
        }

    def _occurrences(self, candidate: Candidate) -> dict[str, float]:
        found = self.mentions[candidate]
        sentences = self.reader.sentences
        by_role = Counter(self.roles[i] for i in found)
        total = max(1, len(found))
        of_others = by_role[Role.RELATED] + by_role[Role.INTRODUCTION] + by_role[Role.BACKGROUND]
        cited = [self._cited(candidate, i) for i in found[:_MOST_CITATIONS]]
        return {
            "mentions": math.log1p(len(found)),
            "mentions: none": float(not found),
            "mentions: one at most": float(len(found) <= 1),
            "mentions: of the most": math.log1p(len(found)) / math.log1p(max(1, self.most_mentions)),
            **{f"mentions: {role}": math.log1p(by_role[role]) for role in _COUNTED_ROLES},
            "share: method": (by_role[Role.METHOD] + by_role[Role.APPLICATION]) / total,
            "share: experiments": by_role[Role.EXPERIMENTS] / total,
            "share: of others": of_others / total,
            "roles": float(len(by_role)),
            "parts": math.log1p(len({id(self.reader.part_of[i]) for i in found})),
            "first mention": found[0] / len(sentences) if found else 1.0,
            "no method": float(not self.has_method),
            "with us": math.log1p(sum(self._ours[i] for i in found)),
            "with actions": math.log1p(sum(self._acting[i] for i in found)),
            "with displays": math.log1p(sum(sentences[i].display for i in found)),
            "before displays": math.log1p(sum(i + 1 < len(sentences) and sentences[i + 1].display for i in found)),
            "cited": math.log1p(sum(cited)),
            "cited at first": float(cited[:1] == [True]),
        }

    def _cited(self, candidate: Candidate, i: int) -> bool:
        sentence = self.reader.sentences[i]
        text = self.reader.document.text[sentence.start : sentence.end].lower()
        last = candidate.name.split()[-1].lower()
        at = text.find(last)
        return at >= 0 and bool(
            _CITATION.match(self.reader.document.text, sentence.start + at + len(last), sentence.end)
        )

    def _name(self, candidate: Candidate) -> dict[str, float]:
        name, found, identity = candidate.name, words(candidate.name), key(candidate.name)
        written = candidate.spellings
        return {
            f"words: {min(len(found), 5)}": 1.0,
            "like a method": float(is_method_like(name)),
            "no technique": float(is_no_technique(name)),
            "a quantity": float(head(name) in QUANTITIES),
            "a step": float(head(name) in STEPS),
            "share of generic words": sum(w in GENERIC for w in found) / len(found),
            "ends generic": float(found[-1] in GENERIC),
            "begins with -ing": float(found[0].endswith("ing")),
            "begins with -ed": float(found[0].endswith("ed")),
            "begins with an action": float(found[0] in ACTIONS),
            "ends with an adjective": float(is_adjective(found[-1])),
            "plural": float(bool(_PLURAL.search(found[-1]))),
            "of or for": float(" of " in name or " for " in name),
            "and": float(" and " in name),
            "capitals": min(_MOST_CAPITALS, max((sum(c.isupper() for c in s) for s in written), default=0)),
            "as a proper name": sum(n for s, n in written.items() if is_proper(s)) / max(1, written.total()),
            "has a short form": float(candidate.short is not None),
            "share in title": len(set(identity) & self.title) / len(identity),
            "in title": float(set(identity) <= self.title),
            "in other candidates": math.log1p(self.in_others[identity]),
            "most mentions within": math.log1p(self.most_within.get(identity, 0)),
        }
