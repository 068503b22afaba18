"""Adds the method's name to names that describe only a role in the method. For example, "update rule" in a paper on
EggNet becomes "EggNet update rule"."""

import re

from xkg.build.techniques.definitions import Reader, mentions, pattern
from xkg.build.techniques.names import is_name, key, stem, words
from xkg.build.techniques.section_roles import Part, Role
from xkg.build.techniques.tree import MAIN, OFTEN, Node, Tree
from xkg.build.techniques.word_lists import ACTIONS

_ROLES = frozenset({*MAIN, Role.DETAILS, Role.BACK})  # parts with other roles describe other authors' techniques
_OF_METHOD = re.compile(r"\b(?:the|our|this|these|its)\s+$", re.IGNORECASE)
_SHORT = 2  # a method's name with more words is appended ("… in METHOD")
_LONG = 5  # headings with more words are specific enough
_LIST = re.compile(r"\sand\s|,|:")


def is_own_name(tree: Tree, name: str, part: Part | None) -> bool:
    """Returns whether `name` identifies a technique without the method's name. `name` comes from a caption or the
    heading of `part`.

    The name must contain a proper noun, an abbreviated term or the method's name. Alternatively, the text must use the
    name as a term elsewhere, mostly without "the" or "our"."""
    mine = set(key(name))
    # In a paper on relational graph networks, "Graph filters for relations" contains the method's name.
    roots = tree.root.keys(tree.shorts) if tree.root is not None else set()
    if any(len(mine & set(k)) >= min(2, len(k)) for k in roots) or any(mine.issuperset(k) for k in tree.longs if k):
        return True
    if any(_is_proper_noun(tree.reader, word) for word in re.findall(r"[^\W_]\w*", name)):
        return True
    if not is_name(name) or len(words(name)) < 2:
        return False
    inside = {i for p in part.walk() for i in p.sentences} if part is not None else set()
    texts = (tree.reader.sentences[i].text for i in mentions([name], tree.reader) if i not in inside)
    before = [text[max(0, m.start() - 8) : m.start()] for text in texts for m in pattern((name,)).finditer(text)]
    free = sum(not _OF_METHOD.search(each) for each in before)
    return free >= OFTEN and 2 * free > len(before)


def _is_proper_noun(reader: Reader, word: str) -> bool:
    """Returns whether a word contains capitals after its first letter, or is capitalised in all sentences."""
    if any(c.isupper() for c in word[1:]) or not word[0].isupper():
        return any(c.isupper() for c in word)
    return _is_written(reader, word, after=r"[\w,]\s") and not _is_written(reader, word.casefold())


def _is_written(reader: Reader, word: str, after: str = r"(?<!\w)") -> bool:
    """Returns whether a sentence contains the word with the same capitalisation."""
    found = re.compile(rf"{after}{re.escape(word)}")
    return any(found.search(reader.sentences[i].text) for i in reader.having([stem(w) for w in words(word)]))


def add_method_name(tree: Tree) -> None:
    """Adds the method's name to technique names that do not identify a technique without it. The original name becomes
    an alias."""
    root = tree.root
    for node in tree.nodes():
        if root is not None and node is not root and _needs_method(tree, root.name, node):
            node.aliases.insert(0, node.name)
            node.name = _joined(tree.reader, root.name, node.name)


def _needs_method(tree: Tree, method: str, node: Node) -> bool:
    named = bool(node.naming) or len(node.name.split()) > _LONG or any(alias.isupper() for alias in node.aliases)
    if node.part is None or node.part.role not in _ROLES or named:
        return False
    # A method's name in lower case may be only a description.
    if is_name(node.name) and method.split()[0].islower():
        return False
    return not is_own_name(tree, node.name, node.part if node.algorithm is None else None)


def _joined(reader: Reader, method: str, name: str) -> str:
    """Combines the names of a method and of its part, as in "EggNet update rule", "Pooling of eggs in EggNet" and
    "Update rule in Incremental Egg Pooling"."""
    first, *others = name.split()
    acts = len(others) > 1 and (first.endswith("ing") or first.casefold() in ACTIONS)
    if acts or _LIST.search(name) or len(words(method)) > _SHORT or set(words(method)) & set(words(name)):
        return f"{name} in {method}"
    # A heading in sentence case is written in lower case after the method's name.
    if " ".join(others).islower() and _is_written(reader, first.lower()):
        first = first.lower()
    return " ".join((method, first, *others))
