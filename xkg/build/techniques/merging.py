"""Merges a heading's technique with others that are the same technique under another name.

A heading and the words of its section often name one thing: "Optimizing Preference with Bayesian Optimization" and
"Bayesian optimization"."""

import re

from xkg.build.techniques.names import head, key, resolve, same, stem, words
from xkg.build.techniques.tree import Node, Tree

_MEANS = re.compile(r"\s(?:with|by|via|using|through)\s+(?:the\s+|an?\s+)?", re.IGNORECASE)
_FIRST_SENTENCES = 2
_SHORT_SECTION = 6


def merge_duplicates(tree: Tree) -> None:
    """Gives each heading's technique the names and sentences of the components, and of the run-in headings anywhere,
    that are the same as it."""
    for node in list(tree.nodes()):
        if node is tree.root or node.part is None:
            continue
        for child in list(node.children):
            if _is_same(tree, node, child):
                _absorb(tree, node, child)
    sections = [n for n in tree.nodes() if n is not tree.root and n.part is not None and not n.part.run_in]
    for run_in in [n for n in tree.nodes() if n.part is not None and n.part.run_in and not n.children]:
        for section in sections:
            # One below the section itself is a part of it: "Toxic vectors in MLP blocks" of "Extracting toxic vectors".
            if section not in run_in.above() and any(same(run_in.name, name) for name in section.names):
                _absorb(tree, section, run_in)
                break


def _is_same(tree: Tree, node: Node, child: Node) -> bool:
    mine = resolve(node.name, tree.shorts)
    # "A kernel with a median heuristic" has the heuristic as a part.
    means = _MEANS.split(mine)[1:] if words(mine)[0].endswith("ing") else []
    for name in child.names:
        theirs = resolve(name, tree.shorts)
        if any(key(theirs) == key(each) for each in means):
            return True
        # "Joint clustering" below "Joint proposal clustering over videos".
        if len(key(theirs)) > 1 and set(key(theirs)) < set(key(mine)) and stem(head(theirs)) == stem(head(mine)):
            return True
    return _is_what_opens(node, child)


def _is_what_opens(node: Node, child: Node) -> bool:
    """Whether a short section begins with its only named technique: "Text processing. We use a TF-IDF …"."""
    return (
        child.part is None
        and not child.children
        and len(node.children) == 1
        and len(node.own) <= _SHORT_SECTION
        and not set(key(child.name)) <= set(key(node.name))
        and any(i in node.own[:_FIRST_SENTENCES] for i in child.naming)
    )


def _absorb(tree: Tree, node: Node, child: Node) -> None:
    node.aliases += [name for name in child.names if name not in node.names]
    node.own = sorted({*node.own, *child.own})
    node.naming += [i for i in child.naming if i not in node.naming]
    (child.parent.children if child.parent is not None else tree.tops).remove(child)
    for each in child.children:
        each.parent = node
    node.children += child.children
