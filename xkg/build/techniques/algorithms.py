"""Techniques named in captions of algorithms."""

import re
from collections.abc import Iterator

from xkg.build.paper.document import Algorithm
from xkg.build.paper.plain import plain
from xkg.build.techniques.names import clean, head, is_method_like, is_name, key, resolve, words
from xkg.build.techniques.noun_phrases import noun_phrase
from xkg.build.techniques.section_roles import Part, part_at
from xkg.build.techniques.tree import MAIN, Node, Tree
from xkg.build.techniques.word_lists import STEPS

_KIND_OF_CODE = re.compile(
    r"^(?:(?:[\w+-]+[ -](?:style|like|based)\s+"
    r"|(?:main|simplified|full|complete|detailed|python|pytorch|jax|numpy)\s+){0,3}"
    r"(?:pseudo-?\s?code|algorithm|procedure|steps|training|overview|summary|implementation|code|computation|outline)"
    r"(?:\s+(?:of|for|to compute)|:)|(?:calculate|calculation|calculating|calc\.?|compute|computing)\s+for)\s+"
    r"(?:the\s+|our\s+)?",
    re.IGNORECASE,
)


_DEFINITION = re.compile(
    r"\\begin\{(?:definition|defn?)\*?\}\s*+\[(?P<latex>[^\[\]]{3,100})\](?P<latex_body>(?:[^\\]|\\(?!end\{def)){0,4000}+)"
    r"|^\*{0,2}Definition \d[\d.]{0,6}\s?\((?P<markdown>[^()\n]{3,100})\)\*{0,2}[.:]?(?P<markdown_body>[^\n]{0,4000})",
    re.IGNORECASE | re.MULTILINE,
)


_ALGORITHM = re.compile(r"algorithm|pseudo-?\s?code|procedure", re.IGNORECASE)
# Listings below show how a library is called.
_USAGE = re.compile(r"\b(?:API|usage|examples?|tutorial|quick-?start)\b", re.IGNORECASE)


def caption_name(title: str) -> str:
    """The technique's name in the caption of an algorithm; may be empty."""
    name = re.sub(r"\$[^$]*\$|[(\[][^()\[\]]*(?:[,;=_]|\\)[^()\[\]]*[)\]]?(?s:.*)$", "", title).strip()
    name = clean(_KIND_OF_CODE.sub("", clean(name)))
    name = re.split(r"\.\s", name)[0].strip()
    return re.sub(r"\s(?:in|for|under) (?:the|an?) (?:[\w-]+ ){1,3}(?:setting|case|regime)s?$", "", name)


def add_algorithms(tree: Tree) -> None:
    """Adds the techniques named in captions of algorithms to the tree."""
    number = 0
    for algorithm in (*tree.reader.document.algorithms, *_definitions(tree)):
        number += bool(algorithm.title)
        naming = _referring(tree, algorithm, number) if algorithm.title else _before(tree, algorithm)
        # Floats move: the algorithm belongs where the text first refers to it.
        stands = part_at(tree.parts, algorithm.start)
        part = (tree.reader.part_of[naming[0]] if naming else None) or stands
        # A section of the method called "Algorithm" is of its algorithm, wherever else that is referred to.
        if stands is not None and stands.role in MAIN and _ALGORITHM.fullmatch(clean(stands.title)):
            part = stands
        name = caption_name(algorithm.title) if algorithm.title else _announced(tree, naming)
        if part is not None and part.appendix and _USAGE.search(part.title):
            continue
        generic = not is_name(name) and 2 <= len(words(name)) <= 3 and words(name)[0] in STEPS
        if generic and tree.root is not None:
            name = f"{tree.root.name} {name}"
        if not is_name(name) or (not generic and tree.is_root(name)):
            continue
        existing = tree.find(name) or (_described(tree, name, part) if part is not None else None)
        only_root = not generic and tree.names_only_root(name)
        existing = existing or (None if only_root else _under(tree, name, part, algorithm))
        if existing is not None:
            if existing is not tree.root and name not in existing.names:
                existing.aliases.append(name)
                tree.index(existing)
            continue
        if only_root:
            continue
        node = Node(name, algorithm.start, 2.5, part=part, algorithm=algorithm)
        tree.give_short_name(node)
        stems = set(key(name))
        node.own = [i for i in part.sentences if _shares(tree, stems, i, 0.6)] if part is not None else []
        node.naming = naming
        tree.hang(node, tree.node_of.get(id(part)) or tree.root)


def _definitions(tree: Tree) -> Iterator[Algorithm]:
    """Definitions whose title is a method ("Definition 2 (Robust UCB)"), as algorithms with that caption."""
    document = tree.reader.document
    for match in _DEFINITION.finditer(document.text):
        kind = "latex" if match["latex"] else "markdown"
        title = plain(document, *match.span(kind))
        part = part_at(tree.parts, match.start())
        if part is not None and part.role in MAIN and is_method_like(clean(title)) and len(words(title)) > 1:
            body = " ".join(plain(document, *match.span(f"{kind}_body")).split())
            yield Algorithm(start=match.start(), end=match.end(), title=title, body=body)


def _before(tree: Tree, algorithm: Algorithm) -> list[int]:
    """The sentence that stands before pseudocode without a caption."""
    ends = [i for i, s in enumerate(tree.reader.sentences) if s.end <= algorithm.start]
    return ends[-1:]


def _announced(tree: Tree, naming: list[int]) -> str:
    """The name in "the pseudocode of X is as follows", "" where the sentence names nothing."""
    text = tree.reader.text(naming)
    match = re.search(
        r"\b(?:pseudo-?\s?code|code|algorithm|procedure|implementation|listing) (?:of|for) (?:the |our )?", text
    )
    return clean(noun_phrase(text, match.end())[0]) if match else ""


def _under(tree: Tree, name: str, part: Part | None, algorithm: Algorithm) -> Node | None:
    """The technique of the heading under which an algorithm is first referred to, where the algorithm is its only one
    and they share a word, or where the heading is that of a single paragraph."""
    node = tree.node_of.get(id(part)) if part is not None else None
    if part is not None and part.parent is not None and node is not None and _ALGORITHM.fullmatch(clean(part.title)):
        part = part.parent
        whole = [a for a in tree.reader.document.algorithms if part.start <= a.start < part.end]
        return node if node.part is part and len(whole) == 1 and head(node.name) == "algorithm" else None
    if part is None or node is None or node is tree.root or node.part is not part or part.level == 1:
        return None
    others = [a for a in tree.reader.document.algorithms if a is not algorithm and part.start <= a.start < part.end]
    return node if not others and (part.run_in or set(key(name)) & set(key(node.name))) else None


def _shares(tree: Tree, stems: set[str], i: int, share: float) -> bool:
    return len(stems & tree.reader.stems(i)) >= share * len(stems)


def _referring(tree: Tree, algorithm: Algorithm, number: int) -> list[int]:
    """The sentences that refer to an algorithm, by its label or by its number."""
    text = tree.reader.document.text
    label = re.escape(algorithm.label) if algorithm.label else "(?!)"
    pattern = re.compile(rf"\\\w*ref\{{[^}}]{{0,400}}(?<![\w:-]){label}(?![\w:-])|\bAlgorithm~?\s?{number}\b")
    return [i for i, s in enumerate(tree.reader.sentences) if pattern.search(text, s.start, s.end)]


def _described(tree: Tree, name: str, part: Part) -> Node | None:
    """The heading that an algorithm's caption paraphrases: they share most of the words that matter."""
    mine = set(key(resolve(name, tree.shorts))) if " " in name else set()
    node = tree.node_of.get(id(part))
    near = [n for n in tree.nodes() if n is not tree.root and n.part is not None]
    best: tuple[float, Node] | None = None
    for other in near:
        theirs = set(key(resolve(other.name, tree.shorts)))
        share = len(mine & theirs) / max(1, min(len(mine), len(theirs)))
        # "Robust Estimation, Prediction and Control" is more than "Robust Control".
        if len(mine & theirs) < max(2, (0.75 if " and " in name else 0.5) * len(mine)):
            continue
        if share >= (0.6 if other is node else 0.75) and (best is None or share > best[0]):
            best = (share, other)
    return best[1] if best else None
