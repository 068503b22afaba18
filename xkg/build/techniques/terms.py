"""Techniques named in sentences of the method, the abstract and the introduction."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import takewhile

from xkg.build.techniques.definitions import mentions
from xkg.build.techniques.names import clean, head, is_method_like, is_name, key, stem, words
from xkg.build.techniques.noun_phrases import Term, emphasised_name, equation_names
from xkg.build.techniques.section_roles import Role
from xkg.build.techniques.tree import MAIN, Node, Tree
from xkg.build.techniques.word_lists import NOT_HEADS, QUANTITIES, SAME_KIND

MOST_CANDIDATES = 400


def add_terms(tree: Tree) -> None:
    """Adds the techniques that sentences propose, name, emphasise or adopt to the tree."""
    roles = [tree.reader.role(i) for i in range(len(tree.reader.sentences))]
    has_method = any(p.role in MAIN for part in tree.parts for p in part.walk())
    main = [i for i, role in enumerate(roles) if role in MAIN or not has_method]
    lead = [i for i, role in enumerate(roles) if role in (Role.ABSTRACT, Role.INTRODUCTION) and has_method]
    for i in (*main, *lead):
        sentence = tree.reader.sentences[i]
        leads = roles[i] not in MAIN and has_method
        named = () if leads else (*_emphasised(tree, i), *(equation_names(sentence.text) if sentence.display else ()))
        for term in (*tree.reader.terms[i], *named):
            _term(tree, term.name, term.how, term.short, i, leads=leads)


def _emphasised(tree: Tree, i: int) -> Iterator[Term]:
    """Names in italics or bold that the sentence introduces."""
    sentence = tree.reader.sentences[i]
    emphases = tree.reader.document.emphases
    first = bisect_left(emphases, sentence.start, key=lambda e: e.start)
    for emphasis in takewhile(lambda e: e.start < sentence.end, emphases[first:]):
        name = " ".join(emphasis.text.split())
        if (
            len(words(name)) > 1
            and name in sentence.text
            and not {head(name), stem(head(name))} & (NOT_HEADS | QUANTITIES)
        ):
            yield from emphasised_name(sentence.text, name)


def _term(tree: Tree, name: str, how: str, short: str | None, i: int, *, leads: bool) -> None:
    name = clean(name)
    if not is_name(name) or tree.is_root(name) or tree.names_only_root(name):
        return
    if len(words(name)) < 2 and not any(c.isupper() for c in name):
        return
    if short is not None and tree.root is not None and short in tree.root.names:
        return
    existing = tree.find(name)
    if existing is not None:
        if i not in existing.naming and how != "use":
            existing.naming.append(i)
        if existing is not tree.root and len(existing.aliases) < 3 and all(key(name) != key(n) for n in existing.names):
            existing.aliases.append(name)
            tree.index(existing)
        return
    if head(name) in ("problem", "setting", "task", "tasks", "dataset", "benchmark") or not (
        how == "emphasise" or is_method_like(name)
    ):
        return
    sentence = tree.reader.sentences[i]
    if how == "use" and (leads or len(words(name)) < 2 or not _cited(tree, name, sentence.start, sentence.end)):
        return
    # "We propose a transfer learning method" describes the root.
    if leads and how == "propose" and words(name)[-1] in SAME_KIND - {"loss", "objective", "module", "layer"}:
        return
    if how == "part" and tree.root is not None and not any(n in sentence.text for n in tree.root.names):
        return
    if len(tree.candidates) > MOST_CANDIDATES:
        return
    mentioned = mentions([name, *([short] if short else [])], tree.reader)
    inside = [n for n in mentioned if tree.reader.role(n) in MAIN]
    score = {"propose": 2.0, "call": 2.0, "part": 2.0, "use": 1.5, "define": 1.5, "emphasise": 1.5}[how] + min(
        1.5, 0.3 * len(inside)
    )
    if leads:
        # A term of abstract or introduction counts only where the method mentions it again.
        if len(inside) < 2 and how != "part":
            return
        score -= 0.5
    at, parent = _home(tree, inside or [i])
    node = Node(name, tree.reader.sentences[at].start, score, naming=[i], part=None)
    if short:
        node.aliases.append(short)
    tree.give_short_name(node)
    tree.hang(node, parent)


def _home(tree: Tree, places: Sequence[int]) -> tuple[int, Node | None]:
    """The technique under whose heading most of these sentences are, the first of equals, and the first sentence
    there."""
    under: dict[int, list[int]] = {}
    nodes: dict[int, Node] = {}
    for i in places:
        part = tree.reader.part_of[i]
        node = tree.node_of.get(id(part)) if part is not None else None
        if node is not None and node is not tree.root:
            nodes[id(node)] = node
            under.setdefault(id(node), []).append(i)
    if not under:
        return places[0], tree.root
    best = max(under, key=lambda n: (len(under[n]), -under[n][0]))
    return under[best][0], nodes[best]


def _cited(tree: Tree, name: str, start: int, end: int) -> bool:
    """Whether a citation follows the name, so that it is a published technique."""
    last = re.escape(name.split()[-1])
    pattern = (
        rf"(?i:{last})\w*\W{{0,4}}(?:\([A-Z][\w+-]{{1,12}}\)\s*)?(?:[a-z]+\b)?\W{{0,3}}?[~\s]*(?:\\[cC]ite|"
        rf"\(\s*(?:e\.g\.,? )?[A-Z][^()]*\d{{4}}|\[\d)"
    )
    return bool(re.search(pattern, tree.reader.document.text[start:end]))
