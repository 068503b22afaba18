"""The technique tree of a paper from its own structure, without a language model.

What can be a technique: headings of the method, captions of algorithms, and terms that a sentence of the method
proposes, names or takes up. The root is the paper's own method; its components keep the paper's order and nesting.
One thing told twice, as a heading, a caption, a term or an abbreviation, is one technique."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from xkg.build import claims, proposal
from xkg.build.document import Algorithm, Document
from xkg.build.enrich import Reader, choose, mentions
from xkg.build.names import abbreviations, about, clean, head, is_method_like, is_name, key, resolve, same, words
from xkg.build.proposal import Proposal
from xkg.build.prose import sentences as prose
from xkg.build.roles import Part, Role, outline
from xkg.build.terms import equation_names, terms
from xkg.build.vocabulary import NOT_HEADS
from xkg.model import Excerpt, Finding, Resource, Technique, unique_slugs

MAX_TECHNIQUES = 40


class Extraction(BaseModel):
    """`techniques` in preorder: a parent stands before its components, siblings in the paper's order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    techniques: tuple[Technique, ...] = ()
    findings: tuple[Finding, ...] = ()
    resources: tuple[Resource, ...] = ()


@dataclass
class _Node:
    """A technique in the making. `score` is how sure it is one; `own` are the sentences under its heading."""

    name: str
    start: int
    score: float
    aliases: list[str] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    part: Part | None = None
    parent: "_Node | None" = None
    children: list["_Node"] = field(default_factory=list)
    definition: str = ""
    excerpts: tuple[Excerpt, ...] = ()

    @property
    def names(self) -> list[str]:
        return [self.name, *self.aliases]

    def keys(self, shorts: Mapping[str, str]) -> set[tuple[str, ...]]:
        return {k for n in self.names for k in (key(n), key(resolve(n, shorts))) if k}

    def walk(self) -> Iterator["_Node"]:
        yield self
        for child in self.children:
            yield from child.walk()

    def above(self) -> Iterator["_Node"]:
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


_MAIN = (Role.METHOD, Role.APPLICATION)
_WEAK_HEADINGS = frozenset(
    [
        "decoding",
        "encoding",
        "initialization",
        "initialisation",
        "preprocessing",
        "pre-processing",
        "postprocessing",
        "sampling",
    ]
)
_BARE = _WEAK_HEADINGS | {"training", "inference", "optimization", "optimisation", "objective", "loss", "strategy"}
_DOES = re.compile(
    r"\bwe (?:\w+ )?(?:propose|introduce|use|apply|train|compute|construct|sample|"
    r"employ|define|find|search|stack|extract|select|"
    r"measure|intervene|update|initiali[sz]e|optimi[sz]e|minimi[sz]e)\b|\b(?:is|are) (?:implemented|"
    r"computed|obtained|generated|constructed|defined)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"\?|^(?:do|does|is|are|can|how|why|what|when|which|who|should|from)\b", re.IGNORECASE)


class _Builder:
    """Collects candidates of one paper, merges those that mean the same, and hangs them under the root."""

    def __init__(self, reader: Reader, parts: tuple[Part, ...]) -> None:
        self.reader = reader
        self.parts = parts
        self.shorts = abbreviations(s.text for s in reader.sentences)
        self.longs = {key(long): short for short, long in reversed(self.shorts.items())}
        self.proposal: Proposal | None = proposal.find(reader, parts, self.shorts)
        self.root: _Node | None = None
        self.tops: list[_Node] = []
        self.node_of: dict[int, _Node | None] = {}
        if self.proposal is not None:
            first = self.proposal.given[0] if self.proposal.given else 0
            start = reader.sentences[first].start if reader.sentences else 0
            self.root = _Node(
                self.proposal.name, start, 10.0, list(self.proposal.aliases), given=list(self.proposal.given)
            )
            self.tops.append(self.root)

    def build(self) -> list[_Node]:
        for part in self.parts:
            self._headings(part, self.root)
        self._algorithms()
        self._terms()
        self._prune()
        taken: set[int] = set()
        for top in self.tops:
            self._define(top, taken)
        self._drop_undefined()
        return self.tops

    def _define(self, node: _Node, taken: set[int]) -> None:
        """Defines a technique after its components; adds the sentences that this takes to `taken`."""
        node.children.sort(key=lambda n: n.start)
        for child in node.children:
            self._define(child, taken)
        own = node.own
        if node is self.root:
            own = []
        elif not own:
            # A heading with nothing but headings under it is told by what these leave.
            own = sorted({i for c in node.walk() for i in c.own})
        names = list(dict.fromkeys([*node.names, *(resolve(n, self.shorts) for n in node.names)]))
        chosen = choose(self.reader, names, own, node.given, taken)
        node.definition, node.excerpts = self.reader.text(chosen), self.reader.excerpts(chosen)
        taken.update(chosen)

    # headings

    def _is_root(self, name: str) -> bool:
        """Whether a name is the paper's own method, or speaks about nothing but it."""
        if self.root is None:
            return False
        keys = {key(name), key(resolve(name, self.shorts)), key(about(name)), key(resolve(about(name), self.shorts))}
        own = self.root.keys(self.shorts)
        return any(k == r for k in keys for r in own)

    def _headings(self, part: Part, above: _Node | None) -> None:
        node = above
        if part.role in _MAIN:
            node = self._heading(part, above)
        self.node_of[id(part)] = node
        for child in part.children:
            self._headings(child, node)

    def _heading(self, part: Part, above: _Node | None) -> _Node | None:
        """The technique that a heading names, put into the tree; `above` where it names none."""
        name = clean(part.title)
        if self._is_root(name) or (part.level == 1 and self._wraps_root(part)):
            node = self.root or above
        else:
            name, others = self._heading_name(clean(about(name)), part)
            if not name:
                node = above
            else:
                node = self._find(name)
                if node is None:
                    node = _Node(name, part.start, 3.0 if part.labelled or part.run_in else 2.5, others, part=part)
                    self._name(node)
                    self._hang(node, above)
        if node is not None:
            node.own += part.sentences
        return node

    def _heading_name(self, name: str, part: Part) -> tuple[str, list[str]]:
        """The name that a heading gives with other ways to say it, "" where it gives none."""
        last = words(name)[-1:]
        bare = bool(last) and last[0] in _BARE
        names = part.role is not Role.APPLICATION and self._names_technique(name, part)
        if bare and (not names or len(words(name)) == 1):
            better = self._better_name(last[0], part)
            if better is not None:
                return better
        return (name, []) if names else ("", [])

    def _wraps_root(self, part: Part) -> bool:
        """Whether a main section as a whole describes the root: it holds the root's algorithm, or its title the
        root's name."""
        if self.root is None:
            return False
        title = key(resolve(clean(part.title), self.shorts))
        joined = " ".join(title)
        if any(len(k) and f" {' '.join(k)} " in f" {joined} " for k in self.root.keys(self.shorts)):
            return True
        captions = [self._caption(a.title) for a in self.reader.document.algorithms if part.start <= a.start < part.end]
        return any(self._is_root(c) or self._names_only_root(c) for c in captions)

    def _names_technique(self, name: str, part: Part) -> bool:
        """Whether a heading of the method names a technique rather than a topic, a question or a result."""
        if _QUESTION.search(part.title):
            return False
        if not is_name(name):
            return len(words(name)) == 1 and words(name)[0] in _WEAK_HEADINGS
        if is_method_like(name):
            return True
        if len(words(name)) == 1:
            return False
        # A topic is a technique only where its text does something.
        acts = len(_DOES.findall(self.reader.text(part.sentences)))
        if head(name) in NOT_HEADS:
            return acts >= 1 and part.level > 1
        main = part
        while main.parent is not None:
            main = main.parent
        if main is not part and (main.labelled or self.node_of.get(id(main)) is self.root is not None):
            return True
        if part.level == 1 and self.root is None:
            return acts >= 3
        return acts >= 1 or any(self.reader.sentences[i].display for i in part.sentences)

    def _better_name(self, last: str, part: Part) -> tuple[str, list[str]] | None:
        """What the text under a bare heading ("Initialization") calls the thing: "an initialization method using
        SVD"."""
        for i in part.sentences:
            for term in terms(self.reader.sentences[i].text):
                if (
                    term.how in ("propose", "call", "use")
                    and last[:6] in {w[:6] for w in words(term.name)}
                    and is_name(term.name)
                    and self._find(term.name) is None
                ):
                    whole = f"{term.name} {term.more}".strip()
                    return (whole, [term.name]) if term.more and is_name(whole) else (term.name, [])
        return None

    # the tree

    def _name(self, node: _Node) -> None:
        """Splits "Long form (SHORT)" and adds the short form that the paper uses for the name."""
        match = re.fullmatch(r"(.+?)\s*\(\s*([\w+-]+)\s*\)", node.name)
        if match:
            node.name = match[1].strip()
            node.aliases.append(match[2])
        short = self.longs.get(key(node.name))
        if short and short not in node.names:
            node.aliases.append(short)
        elif node.name in self.shorts:
            node.aliases.append(self.shorts[node.name])

    def _nodes(self) -> Iterator[_Node]:
        for top in self.tops:
            yield from top.walk()

    def _find(self, name: str) -> _Node | None:
        """The technique of the tree that `name` means."""
        spellings = {name, resolve(name, self.shorts), *re.findall(r"\((\w+)\)", name)}
        keys = {key(n) for n in spellings} - {()}
        for node in self._nodes():
            if keys & node.keys(self.shorts):
                return node
            if node is not self.root and any(same(a, b) for a in spellings for b in node.names):
                return node
        return None

    def _hang(self, node: _Node, parent: _Node | None) -> None:
        node.parent = parent
        (parent.children if parent is not None else self.tops).append(node)

    def _part_at(self, offset: int) -> Part | None:
        found = None
        for part in self.parts:
            for p in part.walk():
                if p.start <= offset < p.end and p.role is not Role.ABSTRACT:
                    found = p
        return found

    # algorithms

    @staticmethod
    def _caption(title: str) -> str:
        name = re.sub(r"\$[^$]*\$|[(\[][^()\[\]]*(?:[,;=_]|\\)[^()\[\]]*[)\]]?.*$", "", title).strip()
        name = clean(
            re.sub(
                r"^(?:pseudo-?code|algorithm|procedure|steps|training|overview|summary)\s+(?:of|for)\s+(?:the\s+)?",
                "",
                clean(name),
                flags=re.IGNORECASE,
            )
        )
        return re.split(r"\.\s", name)[0].strip()

    def _algorithms(self) -> None:
        for number, algorithm in enumerate(self.reader.document.algorithms, start=1):
            given = self._referring(algorithm, number)
            # A float drifts: the algorithm belongs where the text first points to it.
            part = (self.reader.part_of[given[0]] if given else None) or self._part_at(algorithm.start)
            if part is None or part.role not in (*_MAIN, Role.DETAILS):
                continue
            name = self._caption(algorithm.title)
            if not name or not is_name(name):
                continue
            if self._is_root(name):
                continue
            found = self._find(name) or self._described(name, part)
            if found is not None:
                if found is not self.root and name not in found.names and same(name, found.name):
                    found.aliases.append(name)
                continue
            if part.role is Role.DETAILS or self._names_only_root(name):
                continue
            node = _Node(name, algorithm.start, 2.5, part=part)
            self._name(node)
            stems = set(key(name))
            node.own = [i for i in part.sentences if self._shares(stems, i, 0.6)]
            node.given = given
            self._hang(node, self.node_of.get(id(part)) or self.root)

    def _shares(self, stems: set[str], i: int, share: float) -> bool:
        return len(stems & self.reader.stems(i)) >= share * len(stems)

    def _referring(self, algorithm: Algorithm, number: int) -> list[int]:
        """The sentences that point to an algorithm, by its label or by its number."""
        text = self.reader.document.text
        label = re.escape(algorithm.label) if algorithm.label else "(?!)"
        pattern = re.compile(rf"\\\w*ref\{{[^}}]*(?<![\w:-]){label}(?![\w:-])|\bAlgorithm~?\s?{number}\b")
        return [
            i
            for i, s in enumerate(self.reader.sentences)
            if self.reader.role(i) in _MAIN and pattern.search(text, s.start, s.end)
        ]

    def _names_only_root(self, name: str) -> bool:
        """Whether a name is the root's with one or two words more: "Batch and match VI", "Training DPMs with ANT"."""
        if self.root is None:
            return False
        for spelling in (name, resolve(name, self.shorts)):
            mine = set(key(spelling))
            if any(len(k) > 1 and mine.issuperset(k) and len(mine) <= len(k) + 2 for k in self.root.keys(self.shorts)):
                return True
        return any(w in self.root.names for w in name.split()) and len(words(name)) <= 5 and not is_method_like(name)

    def _described(self, name: str, part: Part) -> _Node | None:
        """The heading that an algorithm's caption repeats in other words: at least half of its telling words are
        there."""
        mine = set(key(resolve(name, self.shorts)))
        node = self.node_of.get(id(part))
        near = [n for n in self._nodes() if n is not self.root and n.part is not None]
        best: tuple[float, _Node] | None = None
        for other in near:
            theirs = set(key(resolve(other.name, self.shorts)))
            share = len(mine & theirs) / max(1, min(len(mine), len(theirs)))
            if (
                share >= (0.6 if other is node else 0.75)
                and len(mine & theirs) >= 2
                and (best is None or share > best[0])
            ):
                best = (share, other)
        return best[1] if best else None

    # terms

    def _terms(self) -> None:
        roles = [self.reader.role(i) for i in range(len(self.reader.sentences))]
        told = any(p.role in _MAIN for part in self.parts for p in part.walk())
        main = [i for i, role in enumerate(roles) if role in _MAIN or not told]
        lead = [i for i, role in enumerate(roles) if role in (Role.ABSTRACT, Role.INTRODUCTION) and told]
        for i in (*main, *lead):
            sentence = self.reader.sentences[i]
            leads = roles[i] not in _MAIN and told
            named = equation_names(sentence.text) if sentence.display and not leads else ()
            for term in (*terms(sentence.text), *named):
                self._term(term.name, term.how, term.short, i, leads=leads)

    def _term(self, name: str, how: str, short: str | None, i: int, *, leads: bool) -> None:
        name = clean(name)
        if not is_name(name) or self._is_root(name) or self._names_only_root(name):
            return
        if len(words(name)) < 2 and not any(c.isupper() for c in name):
            return
        if short is not None and self.root is not None and short in self.root.names:
            return
        found = self._find(name)
        if found is not None:
            if i not in found.given and how != "use":
                found.given.append(i)
            return
        if head(name) in ("problem", "setting", "task", "tasks", "dataset", "benchmark") or not is_method_like(name):
            return
        sentence = self.reader.sentences[i]
        if how == "use" and (leads or len(words(name)) < 2 or not self._cited(name, sentence.start, sentence.end)):
            return
        if how == "part" and self.root is not None and not any(n in sentence.text for n in self.root.names):
            return
        seen = mentions([name, *([short] if short else [])], self.reader.sentences)
        inside = [n for n in seen if self.reader.role(n) in _MAIN]
        score = {"propose": 2.0, "call": 2.0, "part": 2.0, "use": 1.5, "define": 1.5}[how] + min(1.5, 0.3 * len(inside))
        if leads:
            # A claim of abstract or introduction counts where the method takes it up.
            if len(inside) < 2 and how != "part":
                return
            score -= 0.5
        at, parent = self._home(inside or [i])
        node = _Node(name, self.reader.sentences[at].start, score, given=[i], part=None)
        if short:
            node.aliases.append(short)
        self._name(node)
        self._hang(node, parent)

    def _home(self, places: Sequence[int]) -> tuple[int, _Node | None]:
        """Where a term belongs: the technique under whose heading most of these sentences stand, the first of equals;
        and the first of them there."""
        under: dict[int, list[int]] = {}
        nodes: dict[int, _Node] = {}
        for i in places:
            part = self.reader.part_of[i]
            node = self.node_of.get(id(part)) if part is not None else None
            if node is not None and node is not self.root:
                nodes[id(node)] = node
                under.setdefault(id(node), []).append(i)
        if not under:
            return places[0], self.root
        best = max(under, key=lambda n: (len(under[n]), -under[n][0]))
        return under[best][0], nodes[best]

    def _cited(self, name: str, start: int, end: int) -> bool:
        """Whether a citation follows the name: it is someone's technique, not a passing word."""
        last = re.escape(name.split()[-1])
        pattern = (
            rf"(?i:{last})\w*\W{{0,4}}(?:\([A-Z][\w+-]{{1,12}}\)\s*)?(?:[a-z]+\b)?\W{{0,3}}?[~\s]*(?:\\[cC]ite|"
            rf"\(\s*(?:e\.g\.,? )?[A-Z][^()]*\d{{4}}|\[\d)"
        )
        return bool(re.search(pattern, self.reader.document.text[start:end]))

    def _prune(self) -> None:
        """Keeps the surest techniques of a paper that offers too many."""
        nodes = list(self._nodes())
        if len(nodes) <= MAX_TECHNIQUES:
            return
        keep = {id(n) for n in sorted(nodes, key=lambda n: -n.score)[:MAX_TECHNIQUES]}
        for node in nodes:
            if id(node) in keep:
                keep.update(id(n) for n in node.above())
        for node in nodes:
            node.children = [c for c in node.children if id(c) in keep]
        self.tops = [t for t in self.tops if id(t) in keep]

    def _drop_undefined(self) -> None:
        """A technique without a definition gives its place to its components; a root stays."""

        def kept(nodes: Iterable[_Node]) -> list[_Node]:
            out: list[_Node] = []
            for node in nodes:
                node.children = kept(node.children)
                if node.definition or node is self.root:
                    out.append(node)
                else:
                    out.extend(node.children)
            return out

        self.tops = kept(self.tops)


def _leaves(node: _Node) -> int:
    return sum(_leaves(c) for c in node.children) or 1


def _freeze(nodes: Sequence[_Node], parent: Technique | None, prefix: str, root: _Node | None) -> Iterator[Technique]:
    total = sum(_leaves(n) for n in nodes)
    for node, slug in zip(nodes, unique_slugs(n.name for n in nodes), strict=True):
        top = parent is None
        technique = Technique(
            id=f"{prefix}{slug}",
            name=node.name,
            parent=parent.id if parent is not None else None,
            aliases=tuple(dict.fromkeys(a for a in node.aliases if a != node.name)),
            kind="methodology" if node is root or (top and node.children) else "technique",
            definition=node.definition,
            depth=0 if parent is None else parent.depth + 1,
            weight=_leaves(node) / total,
            excerpts=node.excerpts,
        )
        yield technique
        yield from _freeze(node.children, technique, f"{technique.id}/", root)


def extract(document: Document, paper_id: str) -> Extraction:
    """Techniques, findings and resources of a paper. A paper that proposes nothing it names gives its techniques side
    by side; an empty one gives none."""
    sentences = prose(document)
    parts = outline(document, sentences)
    part_of: list[Part | None] = [None] * len(sentences)
    for part in parts:
        for p in part.walk():
            for i in p.sentences:
                part_of[i] = p
    reader = Reader(document, sentences, part_of)
    builder = _Builder(reader, parts)
    tops = builder.build()
    return Extraction(
        techniques=tuple(_freeze(tops, None, f"{paper_id}#", builder.root)),
        findings=claims.findings(reader, builder.proposal.names if builder.proposal else (), paper_id),
        resources=claims.resources(reader, paper_id),
    )
