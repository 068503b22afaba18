"""Techniques named in headings of the method."""

import re

from xkg.build.techniques.algorithms import caption_name
from xkg.build.techniques.definitions import mentions
from xkg.build.techniques.names import about, clean, head, is_method_like, is_name, is_no_technique, key, resolve, words
from xkg.build.techniques.section_roles import Part, Role
from xkg.build.techniques.tree import MAIN, Node, Tree
from xkg.build.techniques.word_lists import ACTIONS, LITTLE, NOT_HEADS, QUANTITIES, STEPS, STOP

_WEAK_HEADINGS = frozenset(
    """
    decoding encoding initialization initialisation preprocessing pre-processing postprocessing sampling
    """.split()
)
_BARE = _WEAK_HEADINGS | {"training", "inference", "optimization", "optimisation", "objective", "loss", "strategy"}
_DOES = re.compile(
    r"\bwe (?:\w+ )?(?:propose|introduce|use|apply|train|compute|construct|sample|"
    r"employ|define|find|search|stack|extract|select|"
    r"measure|intervene|update|initiali[sz]e|optimi[sz]e|minimi[sz]e)\b|\b(?:is|are) (?:implemented|"
    r"computed|obtained|generated|constructed|defined)\b",
    re.IGNORECASE,
)
_COMPUTED = re.compile(
    r"\bwe (?:\w+ )?(?:choose|set|adapt|estimate|tune|pick)\b"
    r"|\b(?:is|are)\s+(?:\w+ly\s+)?(?:\w{3,}ed|set|given|chosen|drawn)\s+(?:to|by|from|as|with|at)\b",
    re.IGNORECASE,
)
_FORMULA = re.compile(r"\$([^$]*)\$")
_SYMBOL = re.compile(
    r"(?:\\(?:math(?:bf|bb|cal|rm|sf|frak|scr)|bm|boldsymbol|mathbf|hat|tilde|bar)\s*+\{?\s*+)*+([A-Za-z])\}*+"
)
# "ZEST$_{similarity}$" is a name of two words.
_SUBSCRIPT = re.compile(r"_\s?\{?\s?(?:\\(?:text|mathrm|textrm|rm|mathit)\s?\{?\s?)?([A-Za-z][A-Za-z +-]{2,30})\}{0,2}")
_GREEK = re.compile(r"\\([a-z]{2,7})(?:_\s?\{?\s?\w\s?\}?)?")
_GERUND = re.compile(
    r"(?:Finding|Choosing|Deriving|Setting|Selecting|Defining|Designing|Computing|Learning|Estimating|Building|"
    r"Constructing) (?:the|an?|our) ([^(]+)"
)
_OURS = re.compile(r"\b(?:[Ww]e|[Oo]ur)\b")
_LAYERS = re.compile(
    r"\b(?:layers?|(?:sub-?)?networks?|backbone|heads?|encoder|decoder|blocks?|units?|activations?)\b", re.IGNORECASE
)
_OF_EVERY_METHOD = frozenset(
    {"training", "inference", "architecture", "optimization", "optimisation", "initialization"}
)
_OPENING = 3  # sentences of a main section that say what it describes
_QUESTION = re.compile(r"\?|^(?:do|does|is|are|can|how|why|what|when|which|who|should|from)\b", re.IGNORECASE)


def add_headings(tree: Tree) -> None:
    """Adds the techniques named in headings to the tree, nested like the headings."""
    for part in tree.parts:
        _headings(tree, part, tree.root)


def _headings(tree: Tree, part: Part, above: Node | None) -> None:
    node = above
    if part.role in MAIN:
        node = _heading(tree, part, above)
    elif part.role is Role.BACKGROUND and above is not None and above is not tree.root and len(above.own) <= 1:
        # A section that begins with background and has hardly a sentence of its own is described there.
        above.own += part.sentences
    tree.node_of[id(part)] = node
    for child in part.children:
        _headings(tree, child, node)


def _heading(tree: Tree, part: Part, above: Node | None) -> Node | None:
    """The technique that a heading names, added to the tree; `above` where it names none."""
    name = clean(plain_title(part.title))
    if tree.is_root(name) or (part.level == 1 and _wraps_root(tree, part)):
        node = tree.root or above
        # "Normalizing flows on hyperbolic spaces" is the full name of "normalizing flows".
        if tree.root is not None and any(len(k) > 1 and set(k) < set(key(name)) for k in tree.root.keys(tree.shorts)):
            tree.root.aliases += [name] if is_name(name) and is_method_like(name) else []
    elif tree.root is not None and _introduces_root(tree, part):
        node = tree.root
        if is_name(name) and not is_no_technique(name):
            node.aliases.append(name)
            tree.index(node)
    else:
        whole, subject = name, clean(about(name))
        name, others = _heading_name(tree, subject if len(words(subject)) > 1 or tree.is_root(subject) else name, part)
        if not name:
            node = above
        else:
            # "Analysis of the weighting scheme" is about the scheme of another heading.
            node = tree.find(name, loosely=name != whole)
            # "DeepSphere architecture", of a heading "Architecture", is a part of DeepSphere.
            if node is None or (node is tree.root and name.endswith(whole)):
                for each in filter(is_method_like, map(clean, name.split(":")[1:])):
                    made = _GERUND.fullmatch(each)
                    others += [n for n in (each, made[1].strip() if made else "") if is_name(n)]
                node = Node(name, part.start, 3.0 if part.labelled or part.run_in else 2.5, others, part=part)
                tree.give_short_name(node)
                tree.hang(node, above)
    if node is not None:
        node.own += part.sentences
    return node


def plain_title(title: str) -> str:
    """A heading without the symbols of what it names: "Neighbour sampling $S_N$"; a single letter is a word."""

    def plain(match: re.Match[str]) -> str:
        if word := _SUBSCRIPT.fullmatch(match[1].strip()):
            return f" {word[1]} "
        symbol = _SYMBOL.fullmatch(match[1].strip()) or _GREEK.fullmatch(match[1].strip())
        return symbol[1] if symbol else ""

    return " ".join(_FORMULA.sub(plain, title).split())


def _heading_name(tree: Tree, name: str, part: Part) -> tuple[str, list[str]]:
    """The name in a heading and its aliases; "" where it names no technique."""
    if part.role is not Role.APPLICATION and _is_part_of_method(tree, name, part):
        better = _better_name(tree, words(name)[-1], part)
        return better or (f"{tree.root.name} {name}" if tree.root else name, [])
    if gerund := _GERUND.fullmatch(name):
        return (name, [gerund[1].strip()]) if is_name(gerund[1]) else (name, [])
    last = words(name)[-1:]
    bare = bool(last) and last[0] in _BARE
    names = part.role is not Role.APPLICATION and _names_technique(tree, name, part)
    if bare and (not names or len(words(name)) == 1):
        better = _better_name(tree, last[0], part)
        if better is not None:
            return better
    return (name, []) if names else ("", [])


def _wraps_root(tree: Tree, part: Part) -> bool:
    """Whether a main section as a whole describes the root: it contains the root's algorithm, or its title contains
    the root's name."""
    if tree.root is None:
        return False
    title = key(resolve(clean(part.title), tree.shorts))
    joined = " ".join(title)
    if any(len(k) and f" {' '.join(k)} " in f" {joined} " for k in tree.root.keys(tree.shorts)):
        return True
    captions = [caption_name(a.title) for a in tree.reader.document.algorithms if part.start <= a.start < part.end]
    return any(tree.is_root(c) or tree.names_only_root(c) for c in captions)


def _introduces_root(tree: Tree, part: Part) -> bool:
    """Whether the first main section of the method begins with the root's name: "Using our system, YOLO, …"."""
    first = next((p for p in tree.parts if p.role is Role.METHOD), None)
    if tree.root is None or part is not first or part.labelled:
        return False
    opening = set(part.sentences[:_OPENING])
    named = opening.intersection(mentions(tree.root.names, tree.reader))
    return any(_OURS.search(tree.reader.sentences[i].text) for i in named)


def _names_technique(tree: Tree, name: str, part: Part) -> bool:
    """Whether a heading of the method names a technique rather than a topic, a question or a result."""
    if _QUESTION.search(part.title):
        return False
    if not is_name(name):
        return len(words(name)) == 1 and words(name)[0] in _WEAK_HEADINGS
    if is_method_like(name) or words(name)[0] in ACTIONS:
        return True
    if len(words(name)) == 1:
        # "SARIMAX": one word is a name only where it is an abbreviation.
        return part.run_in and sum(c.isupper() for c in name) > 2 and bool(part.sentences)
    # A topic is a technique only where its text describes an action.
    text = tree.reader.text(part.sentences)
    acts = len(_DOES.findall(text))
    if is_no_technique(name):
        return False
    if head(name) in QUANTITIES:
        return part.level > 1 and (acts >= 1 or bool(_COMPUTED.search(text)))
    main = part
    while main.parent is not None:
        main = main.parent
    if main is not part and (main.labelled or tree.node_of.get(id(main)) is not None):
        return True
    if part.level == 1 and tree.root is None:
        return acts >= 3
    algorithms = tree.reader.document.algorithms
    return (
        acts >= 1
        or any(tree.reader.sentences[i].display for i in part.sentences)
        or any(part.start <= a.start < part.end for a in algorithms)
    )


def _is_part_of_method(tree: Tree, name: str, part: Part) -> bool:
    """Whether a heading without a word of its own ("Model Training") describes a step of the method."""
    found = words(name)
    if part.level == 1 or not 1 <= len(found) <= 3:
        return False
    displays = any(tree.reader.sentences[i].display for i in part.sentences)
    acts = len(_DOES.findall(tree.reader.text(part.sentences)))
    if is_name(name):
        # "Likelihood", "Graph": a noun that only its place makes a technique.
        return len(found) == 1 and not is_method_like(name) and found[0] not in NOT_HEADS and (displays or acts > 0)
    if found[-1] not in STEPS or found[0] in STOP | LITTLE:
        return False
    # A section of the method that is called "Inference", whatever its words, says how that is done.
    whole = len(found) == 1 and found[0] in _OF_EVERY_METHOD and len(part.sentences) > 1 and not part.children
    return displays or acts >= 2 or part.run_in or whole or _describes_network(tree, found[-1], part)


def _describes_network(tree: Tree, last: str, part: Part) -> bool:
    """Whether a section called "Architecture" or "Design" says which layers there are."""
    text = tree.reader.text(part.sentences)
    return last in ("architecture", "design") and len(_LAYERS.findall(text)) >= 2


def _better_name(tree: Tree, last: str, part: Part) -> tuple[str, list[str]] | None:
    """The specific name in the text under a bare heading: "an initialization method using SVD" for "Initialization"."""
    for i in part.sentences:
        for term in tree.reader.terms[i]:
            if (
                term.how in ("propose", "call", "use")
                and last[:6] in {w[:6] for w in words(term.name)}
                and is_name(term.name)
                and tree.find(term.name) is None
            ):
                whole = f"{term.name} {term.more}".strip()
                return (whole, [term.name]) if term.more and is_name(whole) else (term.name, [])
    return None
