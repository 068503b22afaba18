"""Finds techniques that algorithm captions name, in any part of a paper."""

import re

from xkg.build.paper.document import Algorithm
from xkg.build.techniques.definitions import mentions
from xkg.build.techniques.names import about, clean, is_method_like, is_name, key, plain_title, resolve, words
from xkg.build.techniques.section_roles import Part, part_at
from xkg.build.techniques.tree import MAIN, Node, Tree

_TITLED = re.compile(r"Definition(?: [\w.]{1,20}+)? \(([^()]{2,200}+)[()]")


def caption_name(title: str) -> str:
    """Returns the name of the technique in an algorithm's caption, or '' if the caption contains no name."""
    # A formula in a caption belongs to the name only if it is joined to a word, as in "$k$-modes".
    plain = plain_title(re.sub(r"\$[^$]*\$(-?)", lambda formula: formula[0] if formula[1] else "$$", title))
    name = re.sub(r"[(\[][^()\[\]]*(?:[,;=_]|\\)[^()\[\]]*[)\]]?(?s:.*)$", "", plain).strip()
    name = clean(about(clean(name)))
    return re.split(r"\.\s", name)[0].strip()


def add_algorithms(tree: Tree) -> None:
    """Adds the techniques named in algorithm captions to the tree."""
    captioned = [a for a in tree.reader.document.algorithms if a.title]
    for algorithm in captioned:
        if tree.is_full:
            return
        part = part_at(tree.parts, algorithm.start)
        name = spaced(tree, caption_name(algorithm.title))
        if not is_name(name) or tree.is_root(name) or tree.names_only_root(name):
            continue
        node = tree.find(name) or _paraphrased(tree, name, part)
        if node is None:
            node = Node(name, algorithm.start, 2.5, part=part, algorithm=algorithm)
            stems = set(key(name))
            own = part.sentences if part is not None else []
            node.own = [i for i in own if len(stems & tree.reader.stems(i)) >= 0.6 * len(stems)]
            tree.add(node, tree.above(part))
        elif node is not tree.root:
            node.doubt = None
            node.aliases += [name] if name not in node.names else []


def add_definitions(tree: Tree) -> None:
    """Adds the techniques named in the titles of definitions, such as "Definition 2 (Robust UCB)"."""
    for aside in tree.reader.document.asides:
        titled = _TITLED.match(aside.text) if aside.kind == "statement" and not tree.is_full else None
        name = clean(titled[1]) if titled else ""
        if not is_name(name) or len(words(name)) < 2 or not is_method_like(name) or tree.find(name) is not None:
            continue
        part = part_at(tree.parts, aside.start)
        if part is not None and part.role in MAIN:
            body = aside.text[titled.end() :].lstrip(" ).:") if titled else ""
            algorithm = Algorithm(start=aside.start, end=aside.end, title=name, body=body)
            tree.add(Node(name, aside.start, 2.0, part=part, algorithm=algorithm), tree.above(part))


def spaced(tree: Tree, name: str) -> str:
    """Splits a name written as one word, such as "RandomizedSketch", at its capitals. Returns the name unchanged if it
    has only two parts and the paper's text does not contain the split name."""
    if " " in name:
        return name
    parts = re.sub(r"(?<=[^\W\d_A-Z]{2})(?=[A-Z][^\W\d_A-Z]{2})", " ", name)
    in_text = " " in parts and bool(mentions([parts], tree.reader))
    return parts if in_text or parts.count(" ") > 1 else name


def _paraphrased(tree: Tree, name: str, part: Part | None) -> Node | None:
    """Returns the technique named by the heading of the algorithm's section. The caption and the heading must share
    most words."""
    node = tree.node_of.get(id(part)) if part is not None else None
    if part is None or node is None or node is tree.root or node.part is not part:
        return None
    mine, theirs = (set(key(resolve(each, tree.shorts))) for each in (name, node.name))
    return node if 2 * len(mine & theirs) > min(len(mine), len(theirs)) else None
