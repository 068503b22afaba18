"""Renders the text of a paper for a prompt. Includes all text that may define a technique, even the experiments,
because many papers describe parts of their method there. Reduces related work and discussion to headings, displayed
equations and algorithms. Omits proofs and result tables."""

import re
from collections.abc import Collection, Iterator, Sequence

from xkg.build.guided.reading.passages import Passage, Passages
from xkg.build.techniques.section_roles import Part, Role, role_of_title

CUT = "[…]"
_CHARACTERS = 4  # characters per token, roughly
_QUESTION = 4_000  # tokens in a question, without the paper
_ANSWER = 16_000  # tokens in an answer, including its reasoning
_REDUCED = frozenset({Role.RELATED, Role.DISCUSSION, Role.BACK})
_PROOFS = re.compile(r"\bproofs?\b", re.IGNORECASE)
_QED = re.compile(r"(?:\\square|\\blacksquare|\\qed|\\Box|[□∎◻]|Q\.E\.D\.)\W{0,200}+$")
_STATEMENT = re.compile(r"\W*+(?:Theorem|Lemma|Proposition|Corollary|Definition|Assumption|Condition|Algorithm)\b")
_PROOF = re.compile(r"\W*+(?:Proof|Sketch of (?:the )?proof)\b", re.IGNORECASE)
# If the window is too small, the roles at the end of this list are dropped first.
_ORDER = (
    Role.ABSTRACT,
    Role.METHOD,
    Role.BACKGROUND,
    Role.APPLICATION,
    Role.DETAILS,
    Role.INTRODUCTION,
    Role.CONCLUSION,
    Role.THEORY,
    Role.EXPERIMENTS,
    Role.DISCUSSION,
    Role.RELATED,
    Role.BACK,
)


def paper_text(passages: Passages, window: int) -> str:
    """Returns the title, headings and numbered passages in reading order. Omits passages far from the method if the
    paper and the answer do not fit into `window` tokens."""
    listed = shown(passages)
    text = rendered(passages, {p.number for p in listed})
    room = _room(passages, window)
    if len(text) > room:
        room -= len(rendered(passages, ()))
        chosen: set[int] = set()
        for passage in sorted(listed, key=lambda p: _ORDER.index(p.role)):
            if len(passage.text) + 10 <= room:
                room -= len(passage.text) + 10
                chosen.add(passage.number)
        text = rendered(passages, chosen)
    return _head(passages) + text


def shown(passages: Passages) -> list[Passage]:
    """Returns the passages to show if the window is large enough."""
    equations = [e.start for e in passages.document.equations]
    found: list[Passage] = []
    proved_in: Part | None = None  # a proof continues until the next statement or heading
    for passage in passages.listed:
        is_proof = _PROOF.match(passage.text) is not None
        if passage.part is not proved_in or _STATEMENT.match(passage.text):
            proved_in = None
        if not is_proof and proved_in is None and _is_shown(passage, equations):
            found.append(passage)
        if is_proof and passage.kind != "statement":  # in LaTeX, a whole proof is one passage
            proved_in = passage.part
        if _QED.search(passage.text[-200:]):
            proved_in = None
    return found


def rendered(passages: Passages, numbers: Collection[int]) -> str:
    """Renders these passages for a prompt. Keeps the reading order and all headings, and marks omissions."""
    out: list[str] = []
    ahead = [part for top in passages.parts for part in top.walk()]
    was_cut = False
    for passage in passages.listed:
        while ahead and ahead[0].start <= passage.start:
            part = ahead.pop(0)
            out.append(f"{'#' * min(4, part.level)} {part.title}")
            was_cut = False
        if passage.number in numbers:
            label = "Algorithm: " if passage.kind == "algorithm" and not passage.text.startswith("Algorithm ") else ""
            out.append(f"[{passage.number}] {label}{passage.text}")
            was_cut = False
        elif not was_cut:
            out.append(CUT)
            was_cut = True
    return "\n\n".join(out)


def _head(passages: Passages) -> str:
    document = passages.document
    abstract = f"Abstract: {document.abstract}\n\n" if document.abstract and document.abstract_span is None else ""
    return f"Title: {document.title}\n\n{abstract}"


def _room(passages: Passages, window: int) -> int:
    """Returns the number of characters available for passages in a question. In a small window, at most half is
    reserved for the answer."""
    tokens = window - min(_QUESTION, window // 4) - min(_ANSWER, window // 2)
    return _CHARACTERS * tokens - len(_head(passages))


def _is_shown(passage: Passage, equations: Sequence[int]) -> bool:
    if passage.kind == "table":
        return passage.settings
    if passage.kind == "algorithm" or passage.part is None:
        return True
    above = list(_path(passage.part))
    if passage.part.appendix and any(_PROOFS.search(part.title) for part in above):
        return passage.kind == "statement" or _STATEMENT.match(passage.text) is not None
    if not _is_reduced(above):
        return passage.kind != "float"
    if passage.kind in ("caption", "float", "footnote", "listing"):
        return False
    return any(a <= at < b for piece in passage.pieces for a, b in piece.spans for at in equations)


def _path(part: Part) -> Iterator[Part]:
    """Yields the part and its ancestors, innermost first."""
    at: Part | None = part
    while at is not None:
        yield at
        at = at.parent


def _is_reduced(above: Sequence[Part]) -> bool:
    """Returns whether the part belongs to related work, discussion or back matter, judging by the nearest title that
    reveals a role."""
    for part in above:
        # "Preliminaries and related work" is kept because it contains preliminaries.
        roles = {role_of_title(each) for each in re.split(r"\band\b|,|&", part.title)} - {None, Role.THEORY}
        if roles:
            return roles <= _REDUCED
    return False
