"""Which candidates are techniques: a logistic regression over all names of a paper adds to what structure marks
(`headings`, `algorithms`, `terms`). `evaluation.technique_choice` fits the coefficients, and measures them on papers
that they were not fitted on."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from xkg.build.techniques.definitions import Reader
from xkg.build.techniques.learned.candidates import Candidate, candidates
from xkg.build.techniques.learned.context_words import context_words
from xkg.build.techniques.learned.features import Features
from xkg.build.techniques.names import is_name, same, words
from xkg.build.techniques.section_roles import Part, Role
from xkg.build.techniques.tree import MAX_TECHNIQUES, Node, Tree

COEFFICIENTS = "coefficients.json"
LEAST = 0.6  # probability
_ASIDES = frozenset({Role.THEORY, Role.DISCUSSION, Role.CONCLUSION, Role.BACK})
_AFTER = frozenset({Role.EXPERIMENTS, Role.DETAILS})
_MOST_LIKELIEST = 400  # compared with one another
_NAMING = 3  # sentences that name an added technique
_ALIKE = 0.7  # share of the words of two names (Dice) from which they are one technique


class Described(NamedTuple):
    """A candidate with its features, and the numbers of the sentences that mention it."""

    candidate: Candidate
    features: Mapping[str, float]
    mentions: Sequence[int]


def describe(reader: Reader, parts: Sequence[Part], shorts: Mapping[str, str]) -> list[Described]:
    """All candidates of a paper."""
    found = candidates(reader, parts, shorts)
    features = Features(reader, found)
    described = []
    for candidate in found:
        mentions = features.mentions[candidate]
        own = {**features.of(candidate), **context_words(reader, candidate, mentions)}
        described.append(Described(candidate, own, mentions))
    return described


def probability(features: Mapping[str, float], coefficients: Mapping[str, float] | None = None) -> float:
    """The probability that a candidate is a technique; "" is the intercept."""
    weights = coefficients if coefficients is not None else stored_coefficients()
    odds = weights[""] + sum(weights.get(name, 0.0) * value for name, value in features.items())
    return 1 / (1 + math.exp(-min(50.0, max(-50.0, odds))))


@cache
def stored_coefficients() -> Mapping[str, float]:
    """Log odds for each unit of a feature, as `evaluation.technique_choice` fitted them."""
    coefficients: dict[str, float] = json.loads(files(__package__).joinpath(COEFFICIENTS).read_text("utf-8"))
    return coefficients


def choose(tree: Tree) -> None:
    """Adds the likely candidates that the tree does not have yet. Nothing is removed: structure marks its techniques by
    the grammar of their sentences too, which the features do not see."""
    described = [
        each
        for each in describe(tree.reader, tree.parts, tree.shorts)
        if _is_specific(each.candidate) and _may_head(tree, each)
    ]
    likely = {each.candidate: probability(each.features) for each in described}
    mentions = {each.candidate: each.mentions for each in described}
    likeliest = [c for c in sorted(likely, key=lambda c: -likely[c]) if likely[c] >= LEAST]
    nodes = list(tree.nodes())
    for candidate in distinct(likeliest[:_MOST_LIKELIEST])[:MAX_TECHNIQUES]:
        known = any(_is_one(candidate.names, n.names) or _is_spelt_out(candidate.name, n.names) for n in nodes)
        if not known and tree.find(candidate.name) is None and not tree.is_root(candidate.name):
            nodes.append(_add(tree, candidate, mentions[candidate], likely[candidate]))


def _is_specific(candidate: Candidate) -> bool:
    """Whether a name can be a technique's: one word only where it is an abbreviation."""
    abbreviated = any(sum(c.isupper() for c in spelling) > 1 for spelling in candidate.spellings)
    return is_name(candidate.name) and (len(words(candidate.name)) > 1 or abbreviated)


def _may_head(tree: Tree, described: Described) -> bool:
    """Headings of proofs and of asides name no technique, those of experiments only one that is mentioned outside."""
    headed = {part.role for part in described.candidate.headings}
    if not headed <= _ASIDES | _AFTER:
        return True
    roles = {tree.reader.role(i) for i in described.mentions}
    return not headed or (not headed <= _ASIDES and not roles <= _ASIDES | _AFTER)


def distinct(ordered: Iterable[Candidate]) -> list[Candidate]:
    """The candidates, each technique once, by the first of its names; of what one heading names, the first."""
    chosen: list[Candidate] = []
    headings: set[int] = set()
    for candidate in ordered:
        mine = {id(part) for part in candidate.headings}
        if not mine & headings and not any(_is_one(candidate.names, c.names) for c in chosen):
            chosen.append(candidate)
            headings |= mine
    return chosen


def _is_spelt_out(name: str, others: Sequence[str]) -> bool:
    """Whether a name spells out what another abbreviates: "radial basis function kernel" is in "RBF Kernel with Median
    Heuristic"."""
    parts = words(name)
    for other in others:
        theirs = set(words(other))
        for short in (word.casefold() for word in other.split() if len(word) > 1 and word.isupper()):
            for start in range(len(parts) - len(short) + 1):
                end = start + len(short)
                spelt = "".join(part[0] for part in parts[start:end])
                if spelt == short and theirs.issuperset([*parts[:start], *parts[end:]]):
                    return True
    return False


def _is_one(names: Sequence[str], others: Sequence[str]) -> bool:
    return any(same(a, b) or _alike(a, b) >= _ALIKE for a in names for b in others)


def _alike(one: str, other: str) -> float:
    a, b = set(words(one)), set(words(other))
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def _add(tree: Tree, candidate: Candidate, mentions: Sequence[int], likely: float) -> Node:
    """A new technique under the technique that its heading, or else its first mention, stands under."""
    part = candidate.headings[0] if candidate.headings else None
    node = Node(candidate.name, min(candidate.offsets), 2 * likely, part=part, naming=list(mentions[:_NAMING]))
    node.aliases = [name for name in candidate.names if name != node.name]
    tree.give_short_name(node)
    around = part or next((tree.reader.part_of[i] for i in mentions), None)
    parent: Node | None = None
    while around is not None and parent is None:
        parent = tree.node_of.get(id(around))
        around = around.parent
    if part is not None:
        node.own = list(part.sentences)
        if tree.node_of.get(id(part)) in (None, tree.root):
            tree.node_of[id(part)] = node
    only = tree.tops[0] if len(tree.tops) == 1 else None
    tree.hang(node, parent or tree.root or only)
    return node
