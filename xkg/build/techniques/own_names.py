"""Puts the method's name before headings that name only a role in it, such as "update rule" in a paper on EggNet."""

import re

from xkg.build.techniques.definitions import Reader, mentions, pattern
from xkg.build.techniques.names import is_name, key, stem, words
from xkg.build.techniques.section_roles import Part, Role
from xkg.build.techniques.tree import MAIN, OFTEN, Node, Tree
from xkg.build.techniques.word_lists import ACTIONS

_ROLES = frozenset({*MAIN, Role.DETAILS, Role.BACK})  # parts in other roles describe techniques by others
_OF_METHOD = frozenset("the our this these its".split())
_SHORT = 2  # most words in a method's name that may precede the name of its part
_LONG = 5  # headings with more words say what they are about
_LIST = re.compile(r"\sand\s|,|:")


def is_own_name(tree: Tree, name: str, part: Part | None) -> bool:
    """Whether readers recognise a technique by the heading `name` of `part`, or by a caption, without the method's
    name: if it contains a proper name, an abbreviated term or the method's name, or if the text elsewhere uses it as a
    term, mostly without "the" or "our"."""
    mine = set(key(name))
    # "Graph filters for relations" in a paper on relational graph networks
    roots = tree.root.keys(tree.shorts) if tree.root is not None else set()
    if any(len(mine & set(k)) >= min(2, len(k)) for k in roots) or any(mine.issuperset(k) for k in tree.longs if k):
        return True
    if any(_is_proper_noun(tree.reader, word) for word in re.findall(r"[^\W_]\w*", name)):
        return True
    if not is_name(name) or len(words(name)) < 2:
        return False
    before = _words_before(tree.reader, name, part)
    free = [word for word in before if word.casefold() not in _OF_METHOD]
    return len(free) >= OFTEN and 2 * len(free) > len(before)


def _words_before(reader: Reader, name: str, part: Part | None) -> list[str]:
    """The word before each mention of a name outside a part; empty at the start of a sentence."""
    inside = {i for p in part.walk() for i in p.sentences} if part is not None else set()
    texts = [reader.sentences[i].text for i in mentions([name], reader) if i not in inside]
    starts = [text[: match.start()] for text in texts for match in pattern((name,)).finditer(text)]
    return [start.split()[-1] if start else "" for start in starts]


def _is_proper_noun(reader: Reader, word: str) -> bool:
    """Whether a word has capitals inside, or is capitalised in all sentences."""
    if any(c.isupper() for c in word[1:]) or not word[0].isupper():
        return any(c.isupper() for c in word)
    return _is_written(reader, word, after=r"[\w,]\s") and not _is_written(reader, word.casefold())


def _is_written(reader: Reader, word: str, after: str = r"(?<!\w)") -> bool:
    """Whether a sentence contains a word in this case."""
    found = re.compile(rf"{after}{re.escape(word)}")
    return any(found.search(reader.sentences[i].text) for i in reader.having([stem(w) for w in words(word)]))


def add_method_name(tree: Tree) -> None:
    """Adds the method's name to headings and captions that are no names of their own. The heading becomes an alias."""
    root = tree.root
    if root is None:
        return
    title = tree.reader.document.title
    method = next((name for name in root.names if name in title and " " not in name), root.name)
    for node in list(tree.nodes()):
        if node is not root and node.part is not None and node.part.role in _ROLES and _needs_method(tree, root, node):
            node.aliases.insert(0, node.name)
            node.name = _joined(tree.reader, method, node.name)


def _needs_method(tree: Tree, root: Node, node: Node) -> bool:
    if node.naming or len(node.name.split()) > _LONG or any(alias.isupper() for alias in node.aliases):
        return False
    # A root in lower case may be only a description of the method.
    if is_name(node.name) and root.name.split()[0].islower():
        return False
    return not is_own_name(tree, node.name, node.part if node.algorithm is None else None)


def _joined(reader: Reader, method: str, name: str) -> str:
    """Examples: "EggNet update rule", "Pooling of eggs in EggNet", "Update rule in Incremental Egg Pooling"."""
    first, *others = name.split()
    acts = len(others) > 1 and (first.endswith("ing") or first.casefold() in ACTIONS)
    if acts or _LIST.search(name) or len(method.split()) > _SHORT or set(words(method)) & set(words(name)):
        return f"{name} in {method}"
    # Headings in sentence case continue within the name.
    if " ".join(others).islower() and _is_written(reader, first.lower()):
        first = first.lower()
    return " ".join((method, first, *others))
