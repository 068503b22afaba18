"""Finds techniques that headings name. The titles of paragraphs and list items count as headings.

A heading names a technique if the text under the heading contains a formula, an algorithm or a step, and the running
text contains the name. The role of the heading's part determines how many of these conditions must hold."""

import re
from bisect import bisect_left
from collections.abc import Iterator

from xkg.build.paper.document import Emphasis
from xkg.build.techniques.algorithms import caption_name
from xkg.build.techniques.definitions import mentions
from xkg.build.techniques.evidence import acts, is_data, is_spoken_of, is_used, shows
from xkg.build.techniques.names import (
    about,
    clean,
    head,
    is_method_like,
    is_name,
    is_no_technique,
    key,
    plain_title,
    resolve,
    words,
)
from xkg.build.techniques.own_names import is_own_name
from xkg.build.techniques.section_roles import Part, Role, role_of_title
from xkg.build.techniques.tree import DOUBT, MAIN, OFTEN, Node, Tree
from xkg.build.techniques.word_lists import ACTIONS, GENERIC, LITTLE, STEPS, STOP

_QUESTION = re.compile(r"\?|^RQ\s?\d|^(?:do|does|is|are|can|how|why|what|when|which|who|should|from)\b", re.IGNORECASE)
_VERB = re.compile(r"(?:[a-z]+ly\s+)?(?!(?:its|this|thus|as|was|has|does|is)\b)[a-z]+s\s")
_VERSION = re.compile(r"[^\W\d_]{2}-?\d|\b[A-Z]\d")
_OURS = re.compile(r"\b(?:[Ww]e|[Oo]ur)\b")
_INTRODUCED = re.compile(r"\bwe (?:\w+ )?(?:propose|introduce|define|develop|design|devise|formulate)\b", re.IGNORECASE)
_FEW = 2
_OPENING = 3  # number of opening sentences that show what a main section describes
# Parts with these roles describe a technique only if their own text describes it in full.
_ELSEWHERE = frozenset({Role.APPLICATION, Role.BACKGROUND, Role.DETAILS, Role.EXPERIMENTS, Role.BACK})
# In parts with these roles, a run-in heading names a technique if its text begins with what the technique does.
_SAID = frozenset({Role.INTRODUCTION, Role.RELATED, Role.BACKGROUND})


def add_headings(tree: Tree) -> None:
    """Adds the techniques that headings name to the tree. The techniques are nested like the headings."""
    for part in tree.parts:
        _headings(tree, part, tree.root)


def _headings(tree: Tree, part: Part, above: Node | None) -> None:
    node = above
    elsewhere = part.role in _ELSEWHERE or (part.role in _SAID and part.run_in)
    if part.role is Role.METHOD or (elsewhere and _is_described(tree, part)):
        node = _heading(tree, part, above)
    elif part.role is Role.BACKGROUND and above is not None and above is not tree.root and len(above.own) <= 1:
        # The background at the start of a section describes the section if the section has hardly any other text.
        above.own += part.sentences
    tree.node_of[id(part)] = node
    for child in part.children:
        _headings(tree, child, node)


def _is_described(tree: Tree, part: Part) -> bool:
    """Returns whether a part that does not belong to the method fully describes the technique in its title."""
    name = _half(tree, clean(about(clean(plain_title(part.title)))))
    if not is_name(name) or is_no_technique(name) or is_data(tree.reader, name):
        return False
    if role_of_title(name) not in (None, Role.METHOD):
        return False
    opening = tree.reader.text(part.sentences[:1])
    elsewhere = [i for i in mentions([name], tree.reader) if tree.reader.part_of[i] is not part]
    if part.run_in and part.role in _SAID and opening.casefold().startswith(name.casefold()):
        return bool(_VERB.match(opening[len(name) :].lstrip())) and (is_method_like(name) or bool(elsewhere))
    if not (is_method_like(name) or sum(tree.reader.role(i) in MAIN for i in elsewhere) >= OFTEN):
        return False
    if part.role in (Role.INTRODUCTION, Role.RELATED):
        return False
    if part.role is Role.EXPERIMENTS and not _INTRODUCED.search(tree.reader.text(part.sentences)):
        return False
    stated = shows(tree.reader, part) or (part.role is Role.BACKGROUND and acts(tree.reader, part.sentences) > 1)
    if part.role is Role.BACK:
        return stated and part.appendix and " " in name and is_method_like(name) and not _is_aside(part)
    return stated and (bool(elsewhere) or (part.appendix and " " in name))


def _is_aside(part: Part | None) -> bool:
    """Returns whether a part of an appendix is not about the method. Such a part may contain proofs or results."""
    while part is not None:
        if role_of_title(part.title) not in (None, Role.METHOD):
            return True
        part = part.parent
    return False


def _heading(tree: Tree, part: Part, above: Node | None) -> Node | None:
    """Adds the technique that a heading names to the tree, and returns it. Returns `above` if the heading names no
    technique."""
    name = clean(plain_title(part.title))
    node: Node | None
    if tree.is_root(name) or (part.level == 1 and _describes_root(tree, part)):
        node = tree.root
        if node is not None and _is_other_name(tree, node, name):
            node.aliases.append(name)
    else:
        subject = clean(about(name))
        name = _half(tree, subject if len(words(subject)) > 1 else name)
        names = _split(tree, name)
        node = above
        for each in names:
            node = _add(tree, each, part, above)
        if len(names) > 1:
            node = above
    if node is not None:
        node.own += part.sentences
    return node


def _is_other_name(tree: Tree, root: Node, name: str) -> bool:
    """Returns whether the name in a heading about the root is another name for the root."""
    if tree.is_root(name):  # "Walk Encoding" in a paper on walk encodings
        return key(name) in root.keys(tree.shorts) and name.casefold() not in map(str.casefold, root.names)
    return not tree.names_only_root(name) and is_name(name) and is_method_like(name)


def _add(tree: Tree, name: str, part: Part, above: Node | None) -> Node | None:
    """Returns the existing node or a new node for a name. Returns `above` if the name is not a technique."""
    if tree.is_full or _QUESTION.search(part.title) or is_data(tree.reader, name):
        return above
    # A name with a version, such as "GPT2" or "CIFAR-10", belongs to something that the paper uses, unless it names a
    # method.
    if _VERSION.search(name) and not is_method_like(name):
        return above
    bare = _is_bare(name)
    if bare:
        if part.level == 1 or tree.root is None or not part.sentences:
            return above
    elif not is_name(name) or is_no_technique(name):
        return above
    if not bare and tree.names_only_root(name):
        return tree.root if above is None else above
    known = next((n for n in tree.nodes() if n.name == name), None) if bare else tree.find(name)
    if known is not None:
        return known
    node = Node(name, part.start, 3.0, part=part, own=[])
    halves = [clean(half) for half in name.split(":")] if ":" in name else []
    node.aliases += [half for half in halves if is_name(half) and tree.find(half) is None]
    if not bare and not _is_worked_with(tree, name, part):
        if part.children:
            return above
        node.doubt, node.score = DOUBT, 0.5
    tree.add(node, above)
    if node.doubt:
        node.own = list(part.sentences)
        return above
    return node


def _is_worked_with(tree: Tree, name: str, part: Part) -> bool:
    """Returns whether the text uses a heading's name as the name of a technique. If the heading's part contains hardly
    any text besides other headings, the text must mention the name elsewhere. A heading for several similar things,
    such as "Compression Methods", is not a technique."""
    abbreviated = key(name) in tree.longs or "(" in name
    if part.children and head(name).endswith("s") and head(name) in GENERIC and not abbreviated:
        return False
    spellings = [name, re.sub(r"\s{0,4}\([^()]{0,200}\)", "", name)]
    elsewhere = any(tree.reader.part_of[i] is not part for i in mentions(spellings, tree.reader))
    # A heading is a topic if it contains several sections and hardly any other text.
    sections = [child for child in part.children if not child.run_in]
    if len(sections) > 1 and len(part.sentences) <= _FEW and not (elsewhere or is_own_name(tree, name, part)):
        return False
    # "Highlights." is a label, not a technique.
    if part.run_in and len(words(name)) == 1 and name[1:].islower() and not is_method_like(name):
        return False
    if elsewhere or is_method_like(name) or words(name)[0] in ACTIONS:
        return True
    stated = shows(tree.reader, part) or bool(acts(tree.reader, part.sentences))
    return stated and (part.parent is not None or part.run_in or is_spoken_of(tree.reader, name))


def _is_bare(name: str) -> bool:
    """Returns whether a method heading has no specific word ("Model Training") or only one noun ("Likelihood")."""
    found = words(name)
    if not 1 <= len(found) <= 3 or is_no_technique(name) or found[0] in STOP | LITTLE:
        return False
    if is_name(name):
        return len(found) == 1 and not is_method_like(name) and name[1:].islower() and not name.endswith("s")
    return bool({found[0], found[-1]} & STEPS)


def _half(tree: Tree, name: str) -> str:
    """Returns the half of a title that names a technique, as in "One practical detail: log-scaling". If no half or both
    halves name a technique, returns the whole title."""
    halves = [half for half in map(clean, name.split(":", 1)) if is_name(half) and not is_no_technique(half)]
    used = halves if len(halves) == 1 else [half for half in halves if is_used(tree.reader, half)]
    return used[0] if ":" in name and len(used) == 1 else name


def _split(tree: Tree, name: str) -> list[str]:
    """Splits a heading such as "A, B and C" if the text also mentions A, B and C separately. Otherwise, returns the
    whole heading."""
    parts = [re.sub(r"^(?:the|our|an?)\s+", "", each.strip()) for each in re.split(r",\s(?:and\s)?|\sand\s", name)]
    if len(parts) < 2 or ":" in name:
        return [name]
    # "Greedy and lookahead policies" is short for "greedy policies" and "lookahead policies".
    last = parts[-1].split()[-1]
    for first in ([], [f"{each} {last}" for each in parts[:-1]]):
        each_one = [*(first or parts[:-1]), parts[-1]]
        found = [set(mentions([one], tree.reader)) for one in each_one]
        if all(is_name(one) and not is_no_technique(one) and (" " in one or one.isupper()) for one in each_one) and all(
            mine - set().union(*(other for other in found if other is not mine)) for mine in found
        ):
            return each_one
    return [name]


def _describes_root(tree: Tree, part: Part) -> bool:
    """Returns whether a main section describes the root as a whole. The section's title or one of its algorithm
    captions must contain the root's name. In the first section on the method, an opening sentence with the root's name
    and "we" or "our" is enough."""
    if tree.root is None:
        return False
    title = f" {' '.join(key(resolve(clean(part.title), tree.shorts)))} "
    if any(k and f" {' '.join(k)} " in title for k in tree.root.keys(tree.shorts)):
        return True
    captions = [caption_name(a.title) for a in tree.reader.document.algorithms if part.start <= a.start < part.end]
    if any(tree.is_root(c) or tree.names_only_root(c) for c in captions):
        return True
    first = next((p for p in tree.parts if p.role is Role.METHOD), None)
    named = set(part.sentences[:_OPENING]).intersection(mentions(tree.root.names, tree.reader))
    return part is first and not part.labelled and any(_OURS.search(tree.reader.sentences[i].text) for i in named)


def emphases(tree: Tree, i: int) -> Iterator[Emphasis]:
    """Yields the emphasised text fragments in a sentence."""
    sentence, every = tree.reader.sentences[i], tree.reader.document.emphases
    for n in range(bisect_left(every, sentence.start, key=lambda e: e.start), len(every)):
        if every[n].start >= sentence.end:
            break
        yield every[n]
