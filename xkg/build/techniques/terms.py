"""Techniques named in sentences of the method, the abstract and the introduction."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import takewhile

from xkg.build.paper.document import Emphasis
from xkg.build.techniques.definitions import mentions
from xkg.build.techniques.names import (
    clean,
    head,
    is_method_like,
    is_name,
    is_no_technique,
    is_proper,
    key,
    stem,
    words,
)
from xkg.build.techniques.noun_phrases import Term, emphasised_name
from xkg.build.techniques.objectives import equation_names
from xkg.build.techniques.section_roles import Role
from xkg.build.techniques.tree import MAIN, Node, Tree
from xkg.build.techniques.word_lists import QUANTITIES, SAME_KIND

MOST_CANDIDATES = 400
_ELSEWHERE = (Role.BACKGROUND, Role.EXPERIMENTS, Role.THEORY, Role.DETAILS)
_WE_CALL = re.compile(r"\bwe (?:\w+ )?(?:call|name|term|dub|coin|refer to)\b")
_WE = re.compile(r"\b[Ww]e\b")
_CITATION = re.compile(  # behind a name
    r"\w{0,40}+\W{0,4}(?:\([A-Z][\w+-]{1,12}\)\s*+)?(?:[a-z]{1,40}+\b)?\W{0,3}?[~\s]*+"
    r"(?:\\[cC]ite|\(\s*+(?:e\.g\.,? )?[A-Z][^()]{0,400}\d{4}|\[\d)"
)
_VERB = re.compile(r"\s+(?:[a-z]+ly\s+)?(?!(?:its|this|thus|as|was|has|does)\b)[a-z]+s\s")
_OURS = re.compile(r"\b(?:[Ww]e|[Oo]ur|[Tt]he proposed)\b")
# Headings below which the total loss of a method is what they name.
_WHOLES = frozenset({"objective", "objectives", "loss", "losses", "function", "functions", "training", "learning"})
_PHASE = re.compile(r"^(?:[\w-]+ ){1,3}(?:phase|stage|step)$", re.IGNORECASE)
_ITEM = re.compile(
    r"(?:\\item(?:\s*\[[^\]\n]{0,20}\])?|^[ \t]*(?:[-*+•]|\(?\d{1,2}[.)]))\s*+(?:\\noindent\s*+)?$", re.MULTILINE
)


def add_terms(tree: Tree) -> None:
    """Adds the techniques that sentences propose, name, emphasise or adopt to the tree."""
    roles = [tree.reader.role(i) for i in range(len(tree.reader.sentences))]
    has_method = any(p.role in MAIN for part in tree.parts for p in part.walk())
    main = [i for i, role in enumerate(roles) if role in MAIN or not has_method]
    lead = [i for i, role in enumerate(roles) if role in (Role.ABSTRACT, Role.INTRODUCTION) and has_method]
    named_by_authors = [
        i
        for i, role in enumerate(roles)
        if has_method and role in _ELSEWHERE and _WE_CALL.search(tree.reader.sentences[i].text)
    ]
    for i in (*main, *lead):
        sentence = tree.reader.sentences[i]
        leads = roles[i] not in MAIN and has_method
        named = (
            () if leads else (*_emphasised(tree, i), *_item(tree, i), *equation_names(tree.reader.document, sentence))
        )
        for term in (*tree.reader.terms[i], *named):
            _term(tree, _emphasised_part(tree, i, term), term.how, term.short, i, leads=leads)

    for i, role in enumerate(roles):
        if has_method and role is Role.BACKGROUND and tree.reader.sentences[i].display:
            for term in equation_names(tree.reader.document, tree.reader.sentences[i]):
                if any(roles[n] in MAIN for n in mentions([term.name], tree.reader)):
                    _term(tree, term.name, "define", term.short, i, leads=False)

    for i in named_by_authors:
        for term in tree.reader.terms[i]:
            if term.how == "call" and _stands_out(tree, i, term.name):
                _term(tree, term.name, term.how, term.short, i, leads=False)


def _emphases(tree: Tree, i: int) -> Iterator[Emphasis]:
    sentence = tree.reader.sentences[i]
    emphases = tree.reader.document.emphases
    first = bisect_left(emphases, sentence.start, key=lambda e: e.start)
    return takewhile(lambda e: e.start < sentence.end, emphases[first:])


def _stands_out(tree: Tree, i: int, name: str) -> bool:
    """Whether a name is emphasised in its sentence, or written with a capital."""
    return any(key(e.text) == key(name) for e in _emphases(tree, i)) or is_proper(name)


def _emphasised_part(tree: Tree, i: int, term: Term) -> str:
    """The emphasised end of a phrase, which is the name: "a single *leapfrog layer*"."""
    if term.how == "call":
        for emphasis in _emphases(tree, i):
            text = clean(" ".join(emphasis.text.split()))
            if len(words(text)) > 1 and term.name.endswith(f" {text}"):
                return text
    return term.name


def _emphasised(tree: Tree, i: int) -> Iterator[Term]:
    """Names in italics or bold that the sentence introduces."""
    sentence = tree.reader.sentences[i]
    for emphasis in _emphases(tree, i):
        name = clean(" ".join(emphasis.text.split()))
        if sentence.text.startswith(name) and _heads_item(tree, i, emphasis, sentence.text[len(name) :]):
            yield Term(name, "item", 0)
        elif sentence.first and emphasis.style == "bold" and _opens(name, sentence.text):
            yield Term(name, "opens", 0)
        elif (
            len(words(name)) > 1
            and name in sentence.text
            and not is_no_technique(name)
            and not {head(name), stem(head(name))} & QUANTITIES
        ):
            yield from emphasised_name(sentence.text, name)
            # "We also enable *negative prompting* [7]."
            if is_method_like(name) and _WE.search(sentence.text) and _cited(tree, name, sentence.start, sentence.end):
                yield Term(name, "emphasise", sentence.text.find(name))


def _opens(name: str, text: str) -> bool:
    """Whether a bold name is the subject that a paragraph opens with: "**Position loss** encourages …"."""
    return text.startswith(name) and is_method_like(name) and bool(_VERB.match(text, len(name)))


def _item(tree: Tree, i: int) -> Iterator[Term]:
    """The title of a list item that is not emphasised: "half-step momentum update: $v' = …$"."""
    sentence = tree.reader.sentences[i]
    before = tree.reader.document.text[max(0, sentence.start - 60) : sentence.start]
    title, colon, rest = sentence.text.partition(":")
    if colon and rest.strip() and _ITEM.search(before) and len(words(title)) > 1 and is_method_like(clean(title)):
        yield Term(title, "item", 0)


def _heads_item(tree: Tree, i: int, emphasis: Emphasis, rest: str) -> bool:
    """Whether an emphasised phrase is the title of a list item: "\\item \\textbf{Policy head.} It …"."""
    before = tree.reader.document.text[max(0, emphasis.start - 60) : emphasis.start]
    return bool(
        _ITEM.search(before)
        and (emphasis.text.rstrip().endswith((".", ":")) or rest.lstrip().startswith((".", ":", "–", "—")))
        and (len(rest.split()) > 3 or tree.reader.goes_on(i))
    )


def _term(tree: Tree, name: str, how: str, short: str | None, i: int, *, leads: bool) -> None:
    name = clean(name)
    part = tree.reader.part_of[i]
    above = tree.node_of.get(id(part)) if part is not None else None
    if how == "whole":
        if above is not None and words(above.name)[-1] in _WHOLES:
            above.naming.append(i)
            return
        if tree.root is None:
            return
        name, how = f"{tree.root.name} {name}", "define"
    elif tree.names_only_root(name):
        return
    # "Setup Phase: …": every protocol has one.
    if how == "item" and _PHASE.search(name):
        name, how = name if tree.root is None or is_name(name) else f"{tree.root.name} {name}", "define"
    if how == "opens":
        name, how = name if tree.root is None or is_name(name) else f"{tree.root.name} {name}", "define"
    if not is_name(name, proper=how == "part" or short is not None) or tree.is_root(name):
        return
    # "We introduce RF-aware adaptive density control" below "Adaptive RF density control" is that.
    if how == "propose" and above is not None and len(words(above.name)) > 2 and set(key(above.name)) < set(key(name)):
        above.naming.append(i)
        return
    if len(words(name)) < 2 and not any(c.isupper() for c in name):
        return
    if short is not None and tree.root is not None and short in tree.root.names:
        return
    existing = tree.find(name) or (tree.find(short) if short else None)
    if existing is not None:
        if i not in existing.naming and how != "use":
            existing.naming.append(i)
        if existing is not tree.root and len(existing.aliases) < 3 and all(key(name) != key(n) for n in existing.names):
            existing.aliases.append(name)
            tree.index(existing)
        return
    if head(name) in ("problem", "setting", "task", "tasks", "dataset", "benchmark") or not (
        how in ("emphasise", "define", "step") or is_method_like(name) or (how == "call" and is_proper(name))
    ):
        return
    sentence = tree.reader.sentences[i]
    if how == "step" and leads:
        return
    if how == "use" and (
        leads or len(words(name)) < 2 or not (short or _cited(tree, name, sentence.start, sentence.end))
    ):
        return
    # "We propose a transfer learning method" describes the root.
    if leads and how == "propose" and words(name)[-1] in SAME_KIND - {"loss", "objective", "module", "layer"}:
        return
    if (
        how == "part"
        and tree.root is not None
        and not any(n in sentence.text for n in tree.root.names)
        and not _OURS.search(sentence.text.partition(" following ")[0] if " following " in sentence.text else "")
    ):
        return
    if len(tree.candidates) > MOST_CANDIDATES:
        return
    mentioned = mentions([name, *([short] if short else [])], tree.reader)
    inside = [n for n in mentioned if tree.reader.role(n) in MAIN]
    score = (2.0 if how in ("propose", "call", "part", "item") else 1.5) + min(1.5, 0.3 * len(inside))
    if how == "use" and len(inside) < 2 and not _cited(tree, name, sentence.start, sentence.end):
        return
    # An indefinite phrase that never comes again describes what it stands for: "we propose an expanding method".
    shown = any(s.display for s in tree.reader.sentences[i : i + 2])
    if how == "propose" and not short and len(mentioned) < 2 and not any(c.isupper() for c in name) and not shown:
        return
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
    text = tree.reader.document.text[start:end]
    names = re.finditer(re.escape(name.split()[-1]), text, re.IGNORECASE)
    return any(_CITATION.match(text, found.end()) for found in names)
