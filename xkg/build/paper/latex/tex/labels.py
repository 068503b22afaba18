r"""Computes the text that LaTeX prints for `\ref`, such as the numbers of sections, floats, algorithms, statements and
list items."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xkg.build.paper.latex.tex.commands import STATEMENTS
from xkg.build.paper.latex.tex.tokens import Environment, Tex

_LEVELS = {"chapter": 0, "section": 0, "subsection": 1, "subsubsection": 2}
_KINDS = {
    "figure": "Figure", "wrapfigure": "Figure", "SCfigure": "Figure", "sidewaysfigure": "Figure",
    "teaserfigure": "Figure", "floatingfigure": "Figure", "marginfigure": "Figure", "figwindow": "Figure",
    "table": "Table", "wraptable": "Table", "SCtable": "Table", "sidewaystable": "Table", "floatingtable": "Table",
    "margintable": "Table", "tabwindow": "Table", "longtable": "Table", "longtblr": "Table", "xltabular": "Table",
    "algorithm": "Algorithm", "algorithm2e": "Algorithm", "algorithmbox": "Algorithm", "algo": "Algorithm",
    "procedure": "Procedure", "listing": "Listing", "codelisting": "Listing", "lstlisting": "Listing",
}  # fmt: skip
_SHORT = {
    "thm": "theorem", "lem": "lemma", "prop": "proposition", "cor": "corollary", "coro": "corollary",
    "defn": "definition", "defi": "definition", "assum": "assumption", "assump": "assumption", "ass": "assumption",
    "rem": "remark", "rmk": "remark", "obs": "observation", "proofsketch": "proof sketch",
}  # fmt: skip
_UNNUMBERED = frozenset(("proof", "proofsketch"))
_THEOREM = re.compile(
    r"\\(?:newtheorem(?P<star>\*)?|spnewtheorem\*?|declaretheorem)\s*+(?:\[(?P<options>[^\[\]]{0,300})\]\s*+)?"
    r"\{(?P<name>[a-zA-Z@]{1,40}\*?)\}"
    r"(?:\s*+\[(?P<shared>[a-zA-Z]{1,40})\])?(?:\s*+\{(?P<title>[^{}]{0,80})\})?(?:\s*+\[(?P<within>[a-zA-Z]{1,40})\])?"
)
# Matches the editor-generated definition of a title such as `\protect\theoremname`.
_WORD = re.compile(
    r"\\(?:providecommand|newcommand|renewcommand)\*?\s*+(?:\{\\([a-zA-Z]{1,40})\}|\\([a-zA-Z]{1,40}))"
    r"\s*+\{([^{}\\]{1,60})\}"
)
_EVENT = re.compile(
    r"\\(?P<heading>chapter|section|subsection|subsubsection)(?P<star>\*?)(?![a-zA-Z@])|\\(?P<appendix>appendix|appendices)"
    r"(?![a-zA-Z])|\\label\s*+\{(?P<label>[^{}]{1,200})\}|\\captionof\*?\s*+\{(?P<of>[a-z]{1,30})\}"
    r"|\\(?P<caption>caption|TitleOfAlgo)(?![a-zA-Z*])|\\(?P<item>item)(?![a-zA-Z])"
    r"|\\(?P<macro>[a-zA-Z@]+)"
)


@dataclass(slots=True)
class Theorem:
    """A kind of statement, such as a theorem. Contains its title, the environment whose counter it uses, and the
    section level that resets its numbering."""

    title: str
    counter: str
    within: str = ""
    numbered: bool = True


@dataclass(slots=True)
class Printed:
    """The printed names of labels, captions and statements. `labels` maps labels to names such as "Algorithm 2".
    `captions` and `statements` map start offsets to printed names."""

    labels: dict[str, str] = field(default_factory=dict)
    captions: dict[int, str] = field(default_factory=dict)
    statements: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Frame:
    environment: Environment
    kind: str = ""
    name: str = ""  # the printed name, or "" before the first caption
    items: int = 0


def theorems_in(text: str) -> dict[str, Theorem]:
    """Returns the standard statements and those declared by the paper, keyed by environment."""
    found: dict[str, Theorem] = {}
    for name in STATEMENTS:
        plain = _SHORT.get(name.rstrip("*"), name.rstrip("*"))
        found[name] = Theorem(plain.capitalize(), name, numbered=name not in _UNNUMBERED and not name.endswith("*"))
    words = {match[1] or match[2]: match[3] for match in _WORD.finditer(text)}
    for match in _THEOREM.finditer(text):
        options = match["options"] or ""
        shared = re.search(r"(?:sibling|numberlike|sharenumber)\s*=\s*(\w+)", options)
        within = re.search(r"(?:numberwithin|parent|within)\s*=\s*(\w+)", options)
        named = re.search(r"(?:name|title)\s*=\s*\{?([^,{}]+)", options)
        title = match["title"] or (named[1] if named else "") or match["name"].capitalize()
        counter = match["shared"] or (shared[1] if shared else "") or match["name"]
        printed_title = re.sub(r"\\([a-zA-Z]+)|[{}]", lambda macro: f" {words.get(macro[1] or '', '')} ", title)
        plain = match["name"].rstrip("*")
        found[match["name"]] = Theorem(
            " ".join(printed_title.split()) or _SHORT.get(plain, plain).capitalize(),
            counter,
            match["within"] or (within[1] if within else ""),
            numbered=not match["star"] and "numbered=no" not in options.replace(" ", ""),
        )
    return found


def printed(
    text: str,
    start: int,
    end: int,
    environments: Sequence[Environment],
    theorems: Mapping[str, Theorem],
    headings: Mapping[str, str],
    labels: Mapping[str, str],
    equations: Mapping[str, str],
) -> Printed:
    """Returns the printed names between two offsets. `headings` maps macros to the headings that they expand to.
    `labels` maps macros to the labels that they set (see `label_macros`). `equations` maps the labels of displayed
    equations to their numbers."""
    return _Numbering(text, environments, theorems, headings, labels, equations).run(start, end)


class _Numbering:
    def __init__(
        self,
        text: str,
        environments: Sequence[Environment],
        theorems: Mapping[str, Theorem],
        headings: Mapping[str, str],
        labels: Mapping[str, str],
        equations: Mapping[str, str],
    ) -> None:
        self.text = text
        self.tex = Tex(text)
        self.environments = [e for e in environments if e.closed]
        self.theorems, self.headings, self.labels, self.equations = theorems, headings, labels, equations
        self.counts: dict[str, int] = {}
        self.sections = [0, 0, 0]
        self.appendix = False
        self.stack: list[_Frame] = []
        self.out = Printed()

    def run(self, start: int, end: int) -> Printed:
        opening = iter([e for e in self.environments if start <= e.start < end])
        following = next(opening, None)
        for match in _EVENT.finditer(self.text, start, end):
            at = match.start()
            while following is not None and following.start <= at:
                self._close(following.start)
                self._open(following)
                following = next(opening, None)
            self._close(at)
            heading = match["heading"] or self.headings.get(match["macro"] or "")
            if heading in _LEVELS and not match["star"]:
                self._heading(_LEVELS[heading])
            elif match["appendix"]:
                self._begin_appendix()
            elif match["label"]:
                self._label(match["label"].strip())
            elif (label := self.labels.get(match["macro"] or "")) and (group := self.tex.group(match.end())):
                self._label(label.replace("#1", self.tex.inner(group)))
            elif match["caption"] or match["of"]:
                self._caption(at, match["of"])
            elif match["item"] and self.stack:
                self.stack[-1].items += 1
        return self.out

    def _close(self, at: int) -> None:
        while self.stack and self.stack[-1].environment.end <= at:
            self.stack.pop()

    def _open(self, environment: Environment) -> None:
        name = environment.name
        frame = _Frame(environment, _KINDS.get(name.rstrip("*"), ""))
        theorem_name = name
        if name.startswith("restatable") and (group := self.tex.group(self.tex.skip_options(environment.body_start))):
            theorem_name = self.tex.inner(group).strip()
        if theorem := self.theorems.get(theorem_name):
            frame.name = self._statement(theorem)
            self.out.statements[environment.start] = frame.name
        elif name.rstrip("*") in ("subfigure", "subtable") and self.stack:
            outer = next((f for f in reversed(self.stack) if f.kind), None)
            if outer is not None:
                outer.items += 1
                frame.name = f"{outer.name or self._next_name(outer.kind)}{chr(ord('a') + (outer.items - 1) % 26)}"
        elif name in ("appendix", "appendices"):
            self._begin_appendix()
        self.stack.append(frame)

    def _statement(self, theorem: Theorem) -> str:
        if not theorem.numbered:
            return theorem.title
        counter, within = theorem.counter, theorem.within or self.theorems.get(theorem.counter, theorem).within
        self.counts[counter] = self.counts.get(counter, 0) + 1
        prefix = self._section(1 if within == "subsection" else 0) + "." if within in ("section", "subsection") else ""
        return f"{theorem.title} {prefix}{self.counts[counter]}"

    def _heading(self, level: int) -> None:
        self.sections[level] += 1
        for lower in range(level + 1, 3):
            self.sections[lower] = 0
        for theorem in self.theorems.values():
            if theorem.within in ("section", "subsection")[: 2 if level else 1] or (not level and theorem.within):
                self.counts[theorem.counter] = 0

    def _begin_appendix(self) -> None:
        if not self.appendix:
            self.appendix = True
            self.sections = [0, 0, 0]

    def _section(self, deepest: int) -> str:
        numbers = [str(n) for n in self.sections[: deepest + 1]]
        if self.appendix:
            numbers[0] = chr(ord("A") + max(0, self.sections[0] - 1) % 26)
        while len(numbers) > 1 and numbers[-1] == "0":
            numbers.pop()
        return ".".join(numbers)

    def _next_name(self, kind: str) -> str:
        return f"{kind} {self.counts.get(kind, 0) + 1}"

    def _caption(self, at: int, of: str | None) -> None:
        frame = next((f for f in reversed(self.stack) if f.kind), None)
        kind = _KINDS.get(of or "", frame.kind if frame is not None else "Figure")
        inside = next((f for f in reversed(self.stack) if f.environment.name.startswith("sub") and f.name), None)
        if inside is not None and not of:
            self.out.captions[at] = inside.name
            return
        name = self._next_name(kind)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if frame is not None:
            frame.name = name
        elif self.stack:
            self.stack[-1].name = name
        self.out.captions[at] = name

    def _label(self, label: str) -> None:
        if label in self.equations:
            self.out.labels.setdefault(label, f"Equation {self.equations[label]}")
            return
        for frame in reversed(self.stack):
            if frame.name or frame.kind:
                self.out.labels.setdefault(label, frame.name or self._next_name(frame.kind))
                return
            if frame.environment.name.startswith("enumerate") and frame.items:
                self.out.labels.setdefault(label, f"item {frame.items}")
                return
        if self.sections[0]:
            kind = "Appendix" if self.appendix else "Section"
            self.out.labels.setdefault(label, f"{kind} {self._section(2)}")
