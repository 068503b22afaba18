"""Finds headings, formulas, algorithms, emphasised terms and the abstract in LaTeX text, with their offsets."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from xkg.build.paper.document import Algorithm, Emphasis, Equation
from xkg.build.paper.headings import Heading, is_noun_phrase
from xkg.build.paper.latex.algorithms import CAPTION, LABEL, caption, latex_algorithms
from xkg.build.paper.latex.boxes import boxed_algorithm, boxes_in
from xkg.build.paper.latex.equation_numbers import EquationNumbers
from xkg.build.paper.latex.run_in import DASH, ENDS, run_in
from xkg.build.paper.latex.tex.commands import ALGORITHMS, FLOATS, MATH_ENVIRONMENTS
from xkg.build.paper.latex.tex.flatten import is_slides
from xkg.build.paper.latex.tex.formulas import math
from xkg.build.paper.latex.tex.macros import (
    Macros,
    aliases,
    begin_key,
    end_key,
    expand,
    filled,
    given_arguments,
    heading_arguments,
    opens_algorithm,
    unprinted,
)
from xkg.build.paper.latex.tex.text import is_known, latex_text
from xkg.build.paper.latex.tex.tokens import VERBATIM, Environment, Tex, between, environments
from xkg.text.unicode import one_line

LEVELS = {
    "part": 1, "chapter": 1, "addchap": 1, "section": 1, "addsec": 1, "specialsection": 1, "subsection": 2,
    "subsubsection": 3, "paragraph": 4, "subparagraph": 4, "minisec": 4,
}  # fmt: skip
_SLIDE_LEVELS = {"frametitle": 3, "framesubtitle": 4}
_SLIDE_BLOCKS = frozenset(("block", "exampleblock", "alertblock"))
_SECTIONS = frozenset(["section", "addsec", "subsection", "subsubsection"])
_STYLES = {
    name: style
    for style, names in {
        "italic": "emph textit textsl underline it em itshape sl",
        "bold": "textbf bf bfseries",
        "small-caps": "textsc sc scshape",
        "monospace": "texttt tt ttfamily",
    }.items()
    for name in names.split()
}
_SWITCHES = frozenset(["it", "em", "itshape", "sl", "bf", "bfseries", "sc", "scshape", "tt", "ttfamily"])
_ABSTRACTS = re.compile(r"(?i)(?!graphical)[a-z]{0,20}abstract[a-z]{0,10}")  # names in document classes
_ABSTRACT = re.compile(r"\\[aA]bstract(?![a-zA-Z])")
_TOKEN = re.compile(r"\\(?P<word>[a-zA-Z@]+)\*?|(?P<open>\\\[)|(?P<dollars>\$\$?)|\\.", re.DOTALL)
_LIKE_HEADING = re.compile(
    r"^[ \t]*+\\(?!text|begin|end)([a-zA-Z@]{1,40})\*?\{([A-Z][^{}\\\n]{2,80})\}[ \t]*+"
    r"(?:\\label\{[^{}\n]{1,80}\}[ \t]*+)?\n?[ \t]*+(?=[A-Z][a-z]*+ \w)",
    re.MULTILINE,
)
_INLINE = re.compile(r"(?:[^$\\\n]|\\.|\n(?![ \t]*+\n)){0,4000}+\$", re.DOTALL)
_DISPLAY = re.compile(r"((?:[^$\\]|\\.){0,20000}+)\$\$", re.DOTALL)
_PSEUDOCODE = re.compile(r"(?i)\\caption\s*+\{[^{}]{0,200}\b(?:pseudo-?\s?code|algorithm)\b")
_HAS_PARTS = re.compile(r"\\(?:chapter|(?:sub)*section|begin\{abstract\})(?![a-zA-Z])")
_LONGEST_TITLE = 1000
_LONGEST_ALGORITHM = 100_000
_LONGEST_EQUATION = 50_000
_LONGEST_EMPHASIS = 300


@dataclass(frozen=True, slots=True)
class _Source:
    """Pseudocode between two offsets. The algorithm spans the whole `environment`."""

    start: int
    end: int
    title: str
    environment: Environment


@dataclass(slots=True)
class Structure:
    headings: list[Heading] = field(default_factory=list)
    equations: list[Equation] = field(default_factory=list)
    algorithms: list[Algorithm] = field(default_factory=list)
    algorithm_sources: list[_Source] = field(default_factory=list)
    emphases: list[Emphasis] = field(default_factory=list)
    abstract: tuple[int, int] | None = None
    warnings: list[str] = field(default_factory=list)


def _unknown_headings(text: str) -> dict[str, str]:
    """Finds unknown commands that repeatedly begin a paragraph with a title, for treatment as paragraph headings."""
    body = max(text.find("\\section"), text.find("\\chapter"), 0)
    found = Counter(m[1] for m in _LIKE_HEADING.finditer(text, body) if is_noun_phrase(m[2]) and not is_known(m[1]))
    return {name: "paragraph" for name, times in found.items() if times > 1 and name not in {**LEVELS, **_STYLES}}


class Scan:
    """Collects the structure of a paper in one pass over its body."""

    def __init__(self, text: str, macros: Macros) -> None:
        self.text, self.macros = text, macros
        self.tex = Tex(text)
        self.borders, own = aliases(macros)
        self.heading_aliases = _unknown_headings(text) | own
        self.environment_list = environments(text, self.borders)
        self.environments = {e.start: e for e in self.environment_list}
        self.algorithm_list = [e for e in self.environment_list if e.name in ALGORITHMS and e.closed]
        body = next((e for e in self.environment_list if e.name == "document"), None)
        self.start = body.body_start if body else 0
        self.end = body.body_end if body and body.closed else len(text)
        self.definitions = dict(macros.definitions)
        self.boxes = boxes_in(text)
        self.slides = is_slides(text)
        self.unprinted = unprinted(macros.table)
        self.numbers = EquationNumbers(
            text, [e for e in self.environment_list if e.name == "subequations" and e.closed]
        )
        self.structure = Structure()
        self.chapters = re.search(r"\\chapter\*?(?=\s*[{[])", text[self.start : self.end]) is not None
        self.appendix = False
        self.no_display_end = False
        self.dollar_warned = False

    def readable(self, start: int, end: int) -> str:
        return latex_text(self.text[start:end], self.macros.table, self.macros.defaults)

    def groups(self, command: re.Pattern[str]) -> list[tuple[int, int]]:
        groups = []
        for match in command.finditer(self.text):
            group = self.tex.group(self.tex.skip_options(match.end()))
            if group is not None and not self._is_defined(match.start()):
                groups.append((group.start, group.end))
            if len(groups) >= 500:
                break
        return groups

    def first_group(self, command: re.Pattern[str]) -> tuple[int, int] | None:
        return next(iter(self.groups(command)), None)

    def run(self) -> Structure:
        self._unclosed()
        group = self.first_group(_ABSTRACT)
        if group and group[1] > group[0]:
            self.structure.abstract = group
        at = self.start
        while match := _TOKEN.search(self.text, at, self.end):
            if match.start() in self.definitions:
                at = self.definitions[match.start()]
            elif match["word"]:
                at = self._word(match)
            elif match["open"]:
                at = self._bracket(match)
            elif match["dollars"]:
                at = self._dollar(match)
            else:
                at = match.end()
        if self.structure.abstract is None:  # some document classes put the abstract before the body
            self.structure.abstract = self._own_abstract() or self._headed_abstract()
        return self.structure

    def _own_abstract(self) -> tuple[int, int] | None:
        """Returns the span of the first abstract in the preamble, or in an environment whose definition contains the
        word "abstract"."""
        table = self.macros.table
        names = {
            name: count - (begin_key(name) in self.macros.defaults)
            for name in {e.name for e in self.environment_list}
            for count, code in [table.get(begin_key(name), (0, ""))]
            if "abstract" in (code + table.get(end_key(name), (0, ""))[1]).lower()
        }
        own = (
            e
            for e in self.environment_list
            if e.closed and (e.name in names or _ABSTRACTS.fullmatch(e.name)) and not self._is_defined(e.start)
        )
        if (found := next(own, None)) is None:
            return None
        start = self.tex.skip_options(found.body_start)
        for _ in range(names.get(found.name, 0)):
            argument = self.tex.group(start)
            start = argument.after if argument else start
        return start, found.body_end

    def _is_defined(self, at: int) -> bool:
        return any(a <= at < b for a, b in self.macros.definitions)

    def _headed_abstract(self) -> tuple[int, int] | None:
        """Returns the span of text between the word "Abstract" (a heading or bold) and the next heading."""
        headings = self.structure.headings
        starts = [h.body_start for h in headings[:2] if h.title.lower() in ("abstract", "summary")]
        starts += [e.end for e in self.structure.emphases[:20] if e.text.rstrip(ENDS).lower() == "abstract"]
        if not starts:
            return None
        start = min(starts)
        return start, min((h.start for h in headings if h.start > start), default=self.end)

    def _unclosed(self) -> None:
        names = {e.name for e in self.environments.values() if not e.closed and self.start <= e.start < self.end}
        for name in sorted(names)[:10]:
            self.structure.warnings.append(f"an environment {name} is never closed")
        brace = self.tex.unclosed(self.start, self.end)
        if brace is not None:
            self.structure.warnings.append(f"a brace is never closed: {self._near(brace)}")

    def _near(self, position: int) -> str:
        return self.text[position : position + 40].partition("\n")[0].strip()

    def _word(self, match: re.Match[str]) -> int:
        word, start, after = match["word"], match.start(), match.end()
        environment = self.environments.get(start)
        if environment is not None:
            return self._environment(environment)
        name = self.heading_aliases.get(word, word)
        level = _SLIDE_LEVELS.get(name) if self.slides else None
        level = LEVELS.get(name) if level is None else level
        if level is not None:
            level = min(3, level + self.chapters) if name in _SECTIONS else level
            return self._heading(level, start, after, *heading_arguments(self.macros, word))
        if word in self.unprinted and (group := self.tex.group(after)) is not None:
            return group.after
        if word in ("appendix", "appendices"):
            self.appendix = True
        elif word in _STYLES:
            return self._emphasis(word, start, after)
        elif word == "item" and (label := self.tex.option(after)):
            title = one_line(self.readable(label.start, label.end))
            if re.search(r"[^\W\d_]{3}", title):  # a bold label in a description list
                self.structure.emphases.append(
                    Emphasis(start=label.start, end=label.end, text=f"{title.rstrip(ENDS)}:", style="bold")
                )
            return label.after
        return after

    def _environment(self, environment: Environment) -> int:
        name, inside = environment.name, environment.body_start
        if not environment.closed:
            if name == "abstract" and self.structure.abstract is None:
                stop = re.compile(r"\\(?:section|maketitle)|\n[ \t]*\n[ \t]*\n").search(
                    self.text, inside, inside + 5000
                )
                self.structure.abstract = (inside, stop.start() if stop else min(len(self.text), inside + 5000))
            return inside
        if name in MATH_ENVIRONMENTS:
            self._equation(environment.start, environment.end, inside, environment.body_end, name)
            return environment.end
        if name in self.boxes and self._box(environment):
            return environment.end
        if name in ALGORITHMS or opens_algorithm(self.macros.table, name):
            self._algorithm(environment)
            return environment.end
        if name in FLOATS or self._is_float(environment):
            boxes = [e for e in between(self.environment_list, inside, environment.end) if e.name in self.boxes]
            if boxes and sum(map(self._box, boxes)):
                return environment.end
            self._algorithms_in(environment)
            return environment.end
        if name in VERBATIM or name == "thebibliography":
            return environment.end
        if name == "abstract" and self.structure.abstract is None:
            self.structure.abstract = (inside, environment.body_end)
        if name in ("appendix", "appendices"):
            self.appendix = True
        if self.slides and name in ("frame", *_SLIDE_BLOCKS):
            return self._slide(environment)
        return inside

    def _slide(self, environment: Environment) -> int:
        """Adds headings for a slide's title and subtitle, or for the title of a block on a slide."""
        start = environment.start
        at = self.tex.skip_options(environment.body_start)
        for level in (3, 4) if environment.name == "frame" else (4,):
            group = self.tex.group(at)
            if group is None:
                break
            self._add_heading(level, start, group.start, group.end, group.after)
            start = at = group.after
        return at

    def _is_float(self, environment: Environment) -> bool:
        """Returns whether an unknown environment contains an algorithm and a caption but no headings."""
        start, end = environment.start, environment.end
        if end - start > _LONGEST_ALGORITHM or not between(self.algorithm_list, start + 1, end):
            return False
        inside = (
            e.name for e in between(self.environment_list, start + 1, end) if not e.name.startswith("algorithmic")
        )
        if not (FLOATS | ALGORITHMS).isdisjoint(inside):  # algorithms in this environment have their own captions
            return False
        return CAPTION.search(self.text, start, end) is not None and not _HAS_PARTS.search(self.text, start, end)

    def _algorithms_in(self, outer: Environment) -> None:
        """Adds the algorithms in a float. A single algorithm takes its title from the float's caption."""
        inside: list[Environment] = []
        for algorithm in between(self.algorithm_list, outer.start + 1, outer.end):
            if not inside or algorithm.start >= inside[-1].end:
                inside.append(algorithm)
        source = self.text[outer.start : outer.end]
        code = any(e.name in VERBATIM for e in between(self.environment_list, outer.start + 1, outer.end))
        if code and not inside and _PSEUDOCODE.search(source):
            self._algorithm(outer)
        captions = list(CAPTION.finditer(source)) if inside else []
        title = ""
        if len(inside) == 1 and len(captions) == 1 and len(source) < _LONGEST_ALGORITHM:
            title, _ = caption(source, self.macros.table, self.macros.defaults)
        for algorithm in inside:
            self._algorithm(algorithm, title)

    def _algorithm(self, environment: Environment, title: str = "") -> None:
        if environment.end - environment.start < _LONGEST_ALGORITHM:
            self.structure.algorithm_sources.append(_Source(environment.start, environment.end, title, environment))

    def _box(self, environment: Environment) -> bool:
        """Adds the algorithm in a box, and returns whether the box contains one. Boxes around floats do not count,
        because a float has its own caption."""
        found = boxed_algorithm(self.text, self.tex, environment, self.boxes[environment.name], self.macros.table)
        inside = between(self.algorithm_list, environment.start + 1, environment.end)
        if found is None or any(not e.name.startswith("algorithmic") for e in inside):
            return False
        title, start = found
        if environment.end - start < _LONGEST_ALGORITHM:
            self.structure.algorithm_sources.append(_Source(start, environment.body_end, title, environment))
        return True

    def algorithms(self, labels: dict[str, str]) -> list[Algorithm]:
        """Returns all algorithms in order. Resolves references using `labels`, and adds the labels of algorithm lines
        to `labels`."""
        found = list(self.structure.algorithms)
        for each in self.structure.algorithm_sources:
            start, end, whole = each.start, each.end, each.environment
            inside: Sequence[Environment] = between(self.algorithm_list, start + 1, end)
            source = self.text[start:end]
            if opens_algorithm(self.macros.table, whole.name):
                source, start = self._written_out(whole), 0
                inside = environments(source)[1:]
            inner = [e for e in inside if e.name.startswith("algorithmic")]
            read = latex_algorithms(source, start, inner, self.macros.table, self.macros.defaults, each.title, labels)
            for algorithm, lines in read.items():
                labels |= {label: f"line {line}" for label, line in lines.items()}
                if start != whole.start:
                    algorithm = algorithm.model_copy(update={"start": whole.start, "end": whole.end})
                found.append(algorithm)
        return sorted(found, key=lambda a: a.start)

    def _written_out(self, environment: Environment) -> str:
        """Returns the source of a paper-defined environment, with its begin and end code expanded."""
        key = begin_key(environment.name)
        count, before = self.macros.table[key]
        given, at = given_arguments(self.tex, environment.body_start, count, self.macros.defaults.get(key))
        _, after = self.macros.table[end_key(environment.name)]
        return filled(before, given or []) + self.text[at : environment.body_end] + after

    def _equation(self, start: int, end: int, body_start: int, body_end: int, environment: str = "") -> None:
        body = self.text[body_start:body_end]
        if len(body) >= _LONGEST_EQUATION:
            return
        body = expand(body, self.macros.table, self.macros.defaults)
        label = LABEL.search(body)
        numbers = self.numbers.of(environment, start, body)
        if formula := math(body):
            self.structure.equations.append(
                Equation(
                    start=start, end=end, latex=formula, label=label[1].strip() if label else None, numbers=numbers
                )
            )

    def _bracket(self, match: re.Match[str]) -> int:
        close = -1 if self.no_display_end else self.text.find("\\]", match.end())
        if close < 0:
            self.no_display_end = True
        if close < 0 or close - match.end() > 20_000:
            return match.end()
        self._equation(match.start(), close + 2, match.end(), close)
        return close + 2

    def _dollar(self, match: re.Match[str]) -> int:
        if match["dollars"] == "$$":
            display = _DISPLAY.match(self.text, match.end(), self.end)
            if display is None:
                return match.end()
            self._equation(match.start(), display.end(), display.start(1), display.end(1))
            return display.end()
        inline = _INLINE.match(self.text, match.end(), self.end)
        if inline is None and not self.dollar_warned:
            self.dollar_warned = True
            self.structure.warnings.append(f"a $ is not closed within its paragraph: {self._near(match.start())}")
        return inline.end() if inline else match.end()

    def _heading(self, level: int, start: int, after: int, title: int, arguments: int) -> int:
        groups = [self.tex.group(self.tex.skip_options(after))]
        while len(groups) < arguments and (last := groups[-1]) is not None:
            groups.append(self.tex.group(last.after))
        last = groups[-1]
        group = groups[title - 1] if 0 < title <= len(groups) else None
        if group is None or last is None:
            return after
        if level == 1 and not self.text.startswith("*", start + len("\\section")):
            self.numbers.section(appendix=self.appendix)
        dash = DASH.match(self.text, last.after) if level == 4 else None
        after = dash.end() if dash else last.after
        self._add_heading(level, start, group.start, group.end, after)
        return after

    def _add_heading(self, level: int, start: int, title_start: int, title_end: int, after: int) -> None:
        title = one_line(self.readable(title_start, min(title_end, title_start + _LONGEST_TITLE)))
        title = title.rstrip(ENDS) if level == 4 else title
        if title:
            self.structure.headings.append(Heading(title, level, start, after, appendix=self.appendix))

    def _emphasis(self, word: str, start: int, after: int) -> int:
        if word in _SWITCHES:
            if start == 0 or self.text[start - 1] != "{":
                return after
            outer = self.tex.group(start - 1)
            if outer is None or outer.after == outer.end:
                return after
            begin, inner_start, inner_end, end = start - 1, after, outer.end, outer.after
        else:
            group = self.tex.group(after)
            if group is None or group.after == group.end:
                return after
            begin, inner_start, inner_end, end = start, group.start, group.end, group.after
        if inner_end - inner_start > _LONGEST_EMPHASIS or inner_end > self.end:
            return after
        text = one_line(self.readable(inner_start, inner_end))
        if not re.search(r"\w", text):
            return inner_start
        if title := run_in(self.text, (begin, end), _STYLES[word], text, self.start):
            self.structure.headings.append(Heading(title[0], 4, *title[1:], appendix=self.appendix))
            return end
        self.structure.emphases.append(
            Emphasis(start=begin, end=end, text=text, style=_STYLES[word])  # type: ignore[arg-type]
        )
        return inner_start
