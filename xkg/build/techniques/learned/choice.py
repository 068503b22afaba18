"""Adds to the techniques that structure marks (`headings`, `algorithms`, `terms`) those that a logistic regression
chooses among all candidates. `evaluation.technique_choice` fits the coefficients, and measures them on papers that they
were not fitted on."""

import math
from collections.abc import Iterable, Mapping, Sequence

from xkg.build.techniques.learned.candidates import Candidate, candidates
from xkg.build.techniques.learned.coefficients import COEFFICIENTS
from xkg.build.techniques.learned.features import Features
from xkg.build.techniques.names import head, is_name, is_no_technique, same, words
from xkg.build.techniques.section_roles import Role
from xkg.build.techniques.tree import MAIN, MAX_TECHNIQUES, Node, Tree

LEAST = 0.5  # probability
_ASIDES = frozenset({Role.THEORY, Role.DISCUSSION, Role.CONCLUSION, Role.BACK})
_AFTER = frozenset({Role.EXPERIMENTS, Role.DETAILS})
_MOST_LIKELIEST = 400  # compared with one another
_NAMING = 3  # sentences that name an added technique
_ALIKE = 0.7  # share of the words of two names (Dice) from which they are one technique


def probability(features: Mapping[str, float], coefficients: Mapping[str, float] = COEFFICIENTS) -> float:
    """The probability that a candidate is a technique; "" is the intercept."""
    odds = coefficients[""] + sum(coefficients.get(name, 0.0) * value for name, value in features.items())
    return 1 / (1 + math.exp(-min(50.0, max(-50.0, odds))))


def choose(tree: Tree) -> None:
    """Adds the likely candidates that the tree does not have yet. Nothing is removed: structure marks its techniques by
    the grammar of their sentences too, which the features do not see."""
    found = candidates(tree.reader, tree.parts, tree.shorts)
    features = Features(tree.reader, found)
    likely = {c: probability(features.of(c)) for c in found}
    likeliest = [c for c in sorted(found, key=lambda c: -likely[c]) if likely[c] >= LEAST and _may_be_added(c)]
    nodes = list(tree.nodes())
    for candidate in distinct(likeliest[:_MOST_LIKELIEST])[:MAX_TECHNIQUES]:
        known = [node for node in nodes if _is_one(candidate.names, node.names)]
        if (
            not known
            and _in_method(tree, candidate, features.mentions[candidate])
            and tree.find(candidate.name) is None
            and not tree.is_root(candidate.name)
        ):
            nodes.append(_add(tree, candidate, features.mentions[candidate], likely[candidate]))


def _may_be_added(candidate: Candidate) -> bool:
    """Whether a name is specific enough: one word only where it is an abbreviation, a function only where the method
    has a heading for it or it is displayed."""
    if not is_name(candidate.name) or is_no_technique(candidate.name):
        return False
    shown = "define" in candidate.kinds or any(part.role in MAIN for part in candidate.headings)
    if head(candidate.name) in ("function", "functions") and not shown:
        return False
    return len(words(candidate.name)) > 1 or any(sum(c.isupper() for c in n) > 1 for n in candidate.spellings)


def _in_method(tree: Tree, candidate: Candidate, mentions: Sequence[int]) -> bool:
    """Whether a candidate is of the method: a heading of a proof or of an aside is not, one of the experiments is
    where it is mentioned outside of them, and a phrase where it is mentioned in the method, if there is one."""
    roles = {tree.reader.role(i) for i in mentions}
    if candidate.headings:
        headed = {part.role for part in candidate.headings}
        return not headed <= _ASIDES and (not headed <= _AFTER | _ASIDES or not roles <= _AFTER | _ASIDES)
    has_method = any(p.role in MAIN for top in tree.parts for p in top.walk())
    return not has_method or not roles.isdisjoint(MAIN)


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
