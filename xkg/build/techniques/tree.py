"""Builds the technique tree of a paper. Names with the same meaning share a node. All nodes are below the paper's own
method."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from xkg.build.paper.document import Algorithm
from xkg.build.techniques import method_name
from xkg.build.techniques.definitions import MAX_CHARS, Reader, choose, excerpt_of, mentions
from xkg.build.techniques.method_name import Proposal
from xkg.build.techniques.names import (
    PREPOSITION,
    abbreviations,
    about,
    initials_match,
    is_name,
    key,
    resolve,
    words,
)
from xkg.build.techniques.section_roles import Part, Role, part_at
from xkg.model import Excerpt

MAX_TECHNIQUES = 40
MOST_CANDIDATES = 400  # limited because each new name is compared with all candidates
STEPS_OF_DEFINITION = 6
MAIN = (Role.METHOD, Role.APPLICATION)
OFTEN = 3  # a technique that the paper uses is mentioned at least this often
DOUBT = "doubtful as a technique: neither its own section nor the rest of the paper shows that it is part of the method"


@dataclass(eq=False)
class Node:
    """A possible technique. `score` is the confidence that the node is a technique. `doubt` is a reason to doubt that
    the node is a technique. `own` contains the sentences under the technique's heading, and `naming` contains the
    sentences that name the technique."""

    name: str
    start: int
    score: float
    aliases: list[str] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    naming: list[int] = field(default_factory=list)
    part: Part | None = None
    algorithm: Algorithm | None = None
    parent: "Node | None" = None
    children: list["Node"] = field(default_factory=list)
    definition: str = ""
    excerpts: tuple[Excerpt, ...] = ()
    kind: Literal["methodology", "technique"] = "technique"
    doubt: str | None = None

    @property
    def names(self) -> list[str]:
        return [self.name, *self.aliases]

    def keys(self, shorts: Mapping[str, str]) -> set[tuple[str, ...]]:
        return {k for n in self.names for k in (key(n), key(resolve(n, shorts))) if k}

    def walk(self) -> Iterator["Node"]:
        yield self
        for child in self.children:
            yield from child.walk()


class Tree:
    """The techniques found so far in a paper. The root is the paper's own method. `node_of` maps each part, by its
    `id()`, to the technique that it describes."""

    def __init__(self, reader: Reader, parts: tuple[Part, ...]) -> None:
        self.reader = reader
        self.parts = parts
        self.shorts = abbreviations(s.text for s in reader.sentences)
        self.longs = {key(long): short for short, long in reversed(self.shorts.items())}
        self.proposal: Proposal | None = method_name.find(reader, parts, self.shorts)
        self.root: Node | None = None
        self.tops: list[Node] = []
        self.node_of: dict[int, Node | None] = {}
        self.is_full = False
        self.has_method = any(p.role in MAIN for part in parts for p in part.walk())
        if self.proposal is not None:
            naming = list(self.proposal.naming)
            start = reader.sentences[naming[0] if naming else 0].start if reader.sentences else 0
            self.root = Node(self.proposal.name, start, 10.0, list(self.proposal.aliases), naming=naming)
            self.tops.append(self.root)

    def is_main(self, i: int) -> bool:
        """Returns whether a sentence is in a part about the method. Always returns True if no part has the role
        `METHOD`."""
        return not self.has_method or self.reader.role(i) in MAIN

    def nodes(self) -> Iterator[Node]:
        """Yields all techniques found so far. Parents come before their components."""
        for top in self.tops:
            yield from top.walk()

    def find(self, name: str) -> Node | None:
        """Returns the node with this name, or None if there is none."""
        keys = {key(name), key(resolve(name, self.shorts))} - {()}
        return next((node for node in self.nodes() if keys & node.keys(self.shorts)), None)

    def is_root(self, name: str) -> bool:
        """Returns whether a name or a heading refers to the paper's own method."""
        if self.root is None:
            return False
        names = {name, about(name)}
        keys = {key(n) for n in names} | {key(resolve(n, self.shorts)) for n in names}
        # "DPMsANT" and "DPMs-ANT" are the same name.
        return bool(keys & self.root.keys(self.shorts)) or "".join(words(name)) in {
            "".join(words(each)) for each in self.root.names
        }

    def names_only_root(self, name: str) -> bool:
        """Returns whether a name consists of the root's name and one or two other words, as in "Batch and match VI"."""
        if self.root is None or " " not in name:
            return False
        # "Depth pretraining for FCOS" is a technique that is applied to FCOS.
        core, *rest = PREPOSITION.split(name)
        if rest and is_name(core) and not any(set(key(core)) >= set(k) for k in self.root.keys(self.shorts)):
            return False
        spellings = [set(key(spelling)) for spelling in (name, resolve(name, self.shorts))]
        roots = [k for k in self.root.keys(self.shorts) if len(k) > 1]
        return any(mine.issuperset(k) and len(mine) <= len(k) + 2 for mine in spellings for k in roots)

    def add(self, node: Node, parent: Node | None) -> None:
        """Adds a new technique under `parent`, or at the top level if `parent` is None."""
        self._split_short_name(node)
        self.is_full = sum(1 for _ in self.nodes()) >= MOST_CANDIDATES
        node.parent = parent
        (parent.children if parent is not None else self.tops).append(node)

    def _split_short_name(self, node: Node) -> None:
        """Splits "Long form (SHORT)". Adds the paper's short form for the name."""
        match = re.fullmatch(r"(.+?)\s*\(\s*([\w+-]+)\s*\)", node.name)
        reverse = re.fullmatch(r"([\w+-]{2,12})\s*+\(\s*+([^()\s][^()]{3,80}+)\)", node.name)
        if reverse and initials_match(reverse[1], reverse[2]):
            node.name = reverse[2].strip()
            node.aliases.append(reverse[1])
        elif match:
            node.name = match[1].strip()
            node.aliases.append(match[2])
        other = self.longs.get(key(node.name)) or self.shorts.get(node.name)
        if other and other not in node.names:
            node.aliases.append(other)

    def above(self, part: Part | None) -> Node | None:
        """Returns the technique that `part` or the nearest enclosing part describes, or the root if these parts
        describe no technique."""
        while part is not None:
            if (node := self.node_of.get(id(part))) is not None:
                return node
            part = part.parent
        return self.root

    def finish(self) -> list[Node]:
        """Returns the top-level techniques with their definitions. Drops techniques without a definition, and
        techniques beyond the maximum number."""
        nodes = list(self.nodes())
        keep = {id(n) for n in sorted(nodes, key=lambda n: (n.doubt is not None, -n.score))[:MAX_TECHNIQUES]}
        self.tops = _kept(self.tops, keep)
        used: set[int] = set()
        for top in self.tops:
            self._define(top, used)
        self.tops = _kept(self.tops, {id(n) for n in self.nodes() if n.definition or n is self.root})
        return self.tops

    def _define(self, node: Node, used: set[int]) -> None:
        """Defines a technique after its components. Adds the sentences in the definition to `used`."""
        node.children.sort(key=lambda n: n.start)
        for child in node.children:
            self._define(child, used)
        names = list(dict.fromkeys([*node.names, *(resolve(n, self.shorts) for n in node.names)]))
        # If a heading contains hardly any text besides other headings, the sentences below these headings describe it.
        below = sorted({i for c in node.walk() for i in c.own}) if node is not self.root else []
        own = node.own if node is not self.root else []
        chosen = choose(self.reader, names, own or below, node.naming, used)
        chosen = chosen or choose(self.reader, names, below, node.naming, used)
        node.definition, node.excerpts = self.reader.text(chosen), self.reader.excerpts(chosen)
        used.update(chosen)
        if node.algorithm is not None and set(mentions(names, self.reader)).isdisjoint(chosen):
            steps = [line for line in node.algorithm.body.split("\n") if line.strip()][:STEPS_OF_DEFINITION]
            node.definition = f"{node.name}: {'; '.join(steps)}"[:MAX_CHARS] if steps else node.definition
            at = part_at(self.parts, node.algorithm.start)
            node.excerpts = (excerpt_of(self.reader.document, at, node.algorithm.start, node.algorithm.end),)


def _kept(nodes: Iterable[Node], keep: set[int]) -> list[Node]:
    """Returns the nodes in `keep`. Replaces each dropped node with those of its components that are kept."""
    out: list[Node] = []
    for node in nodes:
        node.children = _kept(node.children, keep)
        out += [node] if id(node) in keep else node.children
    return out
