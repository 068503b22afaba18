"""Finds techniques that sentences name or define."""

from xkg.build.techniques.definitions import mentions
from xkg.build.techniques.evidence import is_data
from xkg.build.techniques.headings import emphases
from xkg.build.techniques.introduced import Term, defines
from xkg.build.techniques.names import (
    clean,
    is_method_like,
    is_name,
    is_no_technique,
    is_proper,
    key,
    words,
)
from xkg.build.techniques.section_roles import Role
from xkg.build.techniques.tree import Node, Tree
from xkg.build.techniques.word_lists import PARTS

_LEAD = (Role.ABSTRACT, Role.INTRODUCTION)


def add_terms(tree: Tree) -> None:
    """Adds the techniques that sentences name or define to the tree. Processes sentences about the method first."""
    order = sorted(range(len(tree.reader.sentences)), key=lambda i: (not tree.is_main(i), i))
    for i in order:
        role, sentence, main = tree.reader.role(i), tree.reader.sentences[i], tree.is_main(i)
        if main or role in _LEAD:
            for term in tree.reader.terms[i]:
                _add(tree, term, i)
        elif role in (Role.BACKGROUND, Role.EXPERIMENTS):
            for term in tree.reader.terms[i]:
                if term.how == "call" and (is_proper(term.name) or _is_emphasised(tree, term.name, i)):
                    _add(tree, term, i)
        if main:
            for emphasis in emphases(tree, i):
                name = clean(" ".join(emphasis.text.split()))
                if len(words(name)) > 1 and defines(sentence.text, name):
                    _add(tree, Term(name, "define"), i)


def add_abbreviated(tree: Tree) -> None:
    """Adds the techniques for which the method's text introduces an abbreviation. Includes techniques by other
    authors."""
    for short, long in tree.shorts.items():
        found = mentions([short, long], tree.reader)
        inside = [i for i in found if tree.is_main(i)]
        texts = [tree.reader.sentences[i].text for i in inside]
        if len(inside) < 2 or not any(short in text and long in text for text in texts):
            continue
        if tree.is_full or tree.find(long) or tree.find(short) or tree.is_root(long):
            continue
        if is_name(long) and is_method_like(long) and not is_data(tree.reader, short):
            node = Node(long, tree.reader.sentences[inside[0]].start, 1.0, [short], naming=found[:1])
            tree.add(node, tree.above(tree.reader.part_of[inside[0]]))


def _is_emphasised(tree: Tree, name: str, i: int) -> bool:
    return any(key(e.text) == key(name) for e in emphases(tree, i))


def _add(tree: Tree, term: Term, i: int) -> None:
    name, short = clean(term.name), term.short
    if tree.is_full:
        return
    single = len(words(name)) < 2 and not any(c.isupper() for c in name)
    if single or not is_name(name, proper=short is not None) or tree.is_root(name) or tree.names_only_root(name):
        return
    if short is not None and tree.root is not None and short in tree.root.names:
        return
    known = tree.find(name) or (tree.find(short) if short else None)
    if known is not None:
        known.naming += [i] if i not in known.naming else []
        if known is not tree.root:
            known.doubt = None
            known.aliases += [short] if short and short not in known.names else []
        return
    found = mentions([name, *([short] if short else [])], tree.reader)
    inside = [n for n in found if tree.is_main(n)]
    emphasised = _is_emphasised(tree, name, i)
    named = term.how == "call" and (is_proper(name) or short is not None or (emphasised and is_method_like(name)))
    defined = term.how == "define" and emphasised and bool(inside)
    # "We propose a transfer learning method" describes the root. "We propose a margin loss" names a part of the root.
    described = term.how == "propose" and words(name)[-1] not in PARTS
    if is_no_technique(name) or described or not (is_method_like(name) or named or defined):
        return
    if is_data(tree.reader, name):
        return
    leads = not tree.is_main(i) and tree.reader.role(i) in _LEAD
    # A description that occurs only once is not a name.
    if len(found) < 2 and not (named or defined):
        return
    outside = [n for n in found if tree.reader.role(n) not in _LEAD]
    if leads and len(inside) < 2 and not (outside and (named or inside)):
        return
    above = tree.above(tree.reader.part_of[(inside or [i])[0]])
    node = Node(name, tree.reader.sentences[(inside or [i])[0]].start, 1.5 + min(1.5, 0.3 * len(inside)), naming=[i])
    node.aliases += [short] if short else []
    tree.add(node, above)
