"""Techniques named in captions of algorithms."""

import re

from xkg.build.paper.document import Algorithm
from xkg.build.techniques.names import clean, is_name, key, resolve, same
from xkg.build.techniques.section_roles import Part, Role, part_at
from xkg.build.techniques.tree import MAIN, Node, Tree


def caption_name(title: str) -> str:
    """The technique's name in the caption of an algorithm; may be empty."""
    name = re.sub(r"\$[^$]*\$|[(\[][^()\[\]]*(?:[,;=_]|\\)[^()\[\]]*[)\]]?(?s:.*)$", "", title).strip()
    name = clean(
        re.sub(
            r"^(?:pseudo-?code|algorithm|procedure|steps|training|overview|summary)\s+(?:of|for)\s+(?:the\s+)?",
            "",
            clean(name),
            flags=re.IGNORECASE,
        )
    )
    return re.split(r"\.\s", name)[0].strip()


def add_algorithms(tree: Tree) -> None:
    """Adds the techniques named in captions of algorithms to the tree."""
    for number, algorithm in enumerate(tree.reader.document.algorithms, start=1):
        naming = _referring(tree, algorithm, number)
        # Floats move: the algorithm belongs where the text first refers to it.
        part = (tree.reader.part_of[naming[0]] if naming else None) or part_at(tree.parts, algorithm.start)
        if part is None or part.role not in (*MAIN, Role.DETAILS):
            continue
        name = caption_name(algorithm.title)
        if not name or not is_name(name):
            continue
        if tree.is_root(name):
            continue
        existing = tree.find(name) or _described(tree, name, part)
        if existing is not None:
            if existing is not tree.root and name not in existing.names and same(name, existing.name):
                existing.aliases.append(name)
                tree.index(existing)
            continue
        if part.role is Role.DETAILS or tree.names_only_root(name):
            continue
        node = Node(name, algorithm.start, 2.5, part=part)
        tree.give_short_name(node)
        stems = set(key(name))
        node.own = [i for i in part.sentences if _shares(tree, stems, i, 0.6)]
        node.naming = naming
        tree.hang(node, tree.node_of.get(id(part)) or tree.root)


def _shares(tree: Tree, stems: set[str], i: int, share: float) -> bool:
    return len(stems & tree.reader.stems(i)) >= share * len(stems)


def _referring(tree: Tree, algorithm: Algorithm, number: int) -> list[int]:
    """The sentences that refer to an algorithm, by its label or by its number."""
    text = tree.reader.document.text
    label = re.escape(algorithm.label) if algorithm.label else "(?!)"
    pattern = re.compile(rf"\\\w*ref\{{[^}}]*(?<![\w:-]){label}(?![\w:-])|\bAlgorithm~?\s?{number}\b")
    return [
        i
        for i, s in enumerate(tree.reader.sentences)
        if tree.reader.role(i) in MAIN and pattern.search(text, s.start, s.end)
    ]


def _described(tree: Tree, name: str, part: Part) -> Node | None:
    """The heading that an algorithm's caption paraphrases: they share most of the words that matter."""
    mine = set(key(resolve(name, tree.shorts)))
    node = tree.node_of.get(id(part))
    near = [n for n in tree.nodes() if n is not tree.root and n.part is not None]
    best: tuple[float, Node] | None = None
    for other in near:
        theirs = set(key(resolve(other.name, tree.shorts)))
        share = len(mine & theirs) / max(1, min(len(mine), len(theirs)))
        if share >= (0.6 if other is node else 0.75) and len(mine & theirs) >= 2 and (best is None or share > best[0]):
            best = (share, other)
    return best[1] if best else None
