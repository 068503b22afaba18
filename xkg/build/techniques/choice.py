"""Chooses the techniques of a paper among all its candidates by a logistic regression.

What structure marks as a technique (`headings`, `algorithms`, `terms`) needs less evidence to stay than another
candidate needs to be added. `evaluation.technique_choice` fits the coefficients and measures them on papers that they
were not fitted on."""

import math
from collections.abc import Iterable, Mapping, Sequence

from xkg.build.techniques.candidates import Candidate, candidates
from xkg.build.techniques.coefficients import COEFFICIENTS
from xkg.build.techniques.features import Features
from xkg.build.techniques.names import is_name, is_no_technique, key, same, words
from xkg.build.techniques.section_roles import Part
from xkg.build.techniques.tree import MAX_TECHNIQUES, Node, Tree

LEAST_TO_STAY = 0.05
LEAST_TO_ADD = 0.65
_ALIKE = 0.7  # share of the words of two names (Dice) from which they are one technique


def probability(features: Mapping[str, float], coefficients: Mapping[str, float] = COEFFICIENTS) -> float:
    """The probability that a candidate is a technique; "" is the intercept."""
    odds = coefficients[""] + sum(coefficients.get(name, 0.0) * value for name, value in features.items())
    return 1 / (1 + math.exp(-min(50.0, max(-50.0, odds))))


def choose(tree: Tree) -> None:
    """Removes unlikely headings without components from the tree and adds likely candidates.

    Terms stay: they were taken for the grammar of their sentences, which the features do not see."""
    found = candidates(tree.reader, tree.parts, tree.shorts)
    features = Features(tree.reader, found)
    likely = {c: probability(features.of(c)) for c in found}
    by_key = {key(name): c for c in reversed(found) for name in c.names}
    for node in reversed(list(tree.nodes())):
        known = [likely[by_key[k]] for k in map(key, node.names) if k in by_key]
        named_by_heading = node.part is not None and node.algorithm is None
        if named_by_heading and not node.children and known and max(known) < LEAST_TO_STAY:
            tree.remove(node)
    likeliest = [c for c in sorted(found, key=lambda c: -likely[c]) if _may_be_added(c, likely[c])]
    nodes = list(tree.nodes())
    for candidate in distinct(likeliest)[:MAX_TECHNIQUES]:
        known = [node for node in nodes if _is_one(candidate.names, node.names)]
        if not known and tree.find(candidate.name) is None and not tree.is_root(candidate.name):
            nodes.append(_add(tree, candidate, features.mentions[candidate], likely[candidate]))


def _may_be_added(candidate: Candidate, likely: float) -> bool:
    return likely >= LEAST_TO_ADD and is_name(candidate.name) and not is_no_technique(candidate.name)


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


def _is_one(names: Sequence[str], others: Sequence[str]) -> bool:
    return any(same(a, b) or _alike(a, b) >= _ALIKE for a in names for b in others)


def _alike(one: str, other: str) -> float:
    a, b = set(words(one)), set(words(other))
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def _add(tree: Tree, candidate: Candidate, mentions: Sequence[int], likely: float) -> Node:
    """A new technique under the technique that its heading, or else its first mention, stands under."""
    part = candidate.headings[0] if candidate.headings else None
    node = Node(candidate.name, min(candidate.offsets), 2 * likely, part=part, naming=list(mentions[:3]))
    node.aliases = [name for name in candidate.names if name != node.name]
    tree.give_short_name(node)
    parent = None
    if part is not None:
        node.own = list(part.sentences)
    around: Part | None = part or next((tree.reader.part_of[i] for i in mentions), None)
    while around is not None and parent is None:
        parent = tree.node_of.get(id(around))
        around = around.parent
    if part is not None and tree.node_of.get(id(part)) in (None, tree.root):
        tree.node_of[id(part)] = node
    tree.hang(node, parent or tree.root)
    return node
