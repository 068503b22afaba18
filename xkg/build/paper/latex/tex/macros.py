r"""Finds and expands the author's own simple macros, which use commands such as `\newcommand`, `\def` and
`\DeclareMathOperator`.

Macros with conditions (`\if…`, `\csname`, `\expandafter`) are not expanded, because that would require TeX itself."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from xkg.build.paper.latex.tex.commands import ALGORITHMS, FIRST_SILENT, REFERENCES, SILENT
from xkg.build.paper.latex.tex.tokens import Group, Tex

_DEFINITION = re.compile(
    r"\\(?:(?P<command>(?:re)?new(?:command|robustcmd)|providecommand|DeclareRobustCommand)"
    r"\*?\s*+\{?\s*+\\(?P<a>[a-zA-Z@]+)\s*+\}?"
    r"|(?P<def>[gex]?def)\s*+\\(?P<b>[a-zA-Z@]+)(?P<parameters>(?:#\d)*)"
    r"|(?P<operator>DeclareMathOperator\*?)\s*+\{?\s*+\\(?P<c>[a-zA-Z@]+)\s*+\}?"
    r"|(?P<document>(?:Re)?NewDocumentCommand|DeclareDocumentCommand|NewExpandableDocumentCommand)"
    r"\s*+\{?\s*+\\(?P<e>[a-zA-Z@]+)\s*+\}?\s*+\{(?P<m>(?:[^{}]|\{[^{}]{0,40}\}){0,60})\}"
    r"|(?P<paired>DeclarePairedDelimiter)\s*+\{?\s*+\\(?P<f>[a-zA-Z@]+)\s*+\}?"
    r"|(?P<let>let)\s*+\\(?P<d>[a-zA-Z@]+)\s*+=?\s*+(?P<same>\\[a-zA-Z@]+|\\.)"
    r"|(?P<environment>(?:re)?newenvironment|(?:New|Renew|Declare)DocumentEnvironment|(?:Ren|N)ewEnviron|newtheorem)"
    r"\*?(?=\s*+\{))"
)
_SECTIONING = r"\\((?:sub){0,2}section|(?:sub)?paragraph|chapter|part)\*?"
_HEADING = re.compile(
    _SECTIONING + r"\s*+(?:\[[^]]{0,80}\]\s*+)?\{\s*+#(\d)(\s*+\}(?:\s*+\\label\s*+\{[^{}]{0,80}\})?+)?+"
)
_OTHER_NAME = re.compile(_SECTIONING + r"\s*+")
_STARTS_SECTION = re.compile(r"\\@startsection\s*+\{[^{}]{1,40}\}\s*+\{([1-9])\}")
_NAMES_OF_LEVELS = ("section", "subsection", "subsubsection", "paragraph")
_BEGINS = re.compile(r"\\begin\s*+\{([a-zA-Z0-9@]{1,40}\*?)\}")
_COUNT = re.compile(r"\s*+\[(\d)\]")
_DECIDES = re.compile(r"\\(?:if(?!f(?![a-zA-Z]))|csname|expandafter|futurelet|@ifnextchar|@ifstar|catcode|begingroup)")
_LONGEST_BODY = 5000
_RESERVED = frozenset(
    ("begin", "end", "item", "section", "subsection", "subsubsection", "paragraph", "subparagraph", "chapter", "part",
     "title", "author", "date", "abstract", "maketitle", "appendix", "caption", "label", "ref", "eqref", "cref",
     "Cref", "autoref", "cite", "citep", "citet", "footnote", "emph", "textbf", "textit", "textsc", "texttt",
     "bf", "it", "em", "sc", "tt", "input", "include", "bibliography", "bibitem", "newblock", "documentclass",
     "usepackage", "includegraphics", "left", "right", "frac", "par", "relax", "url", "href", "thanks", "and",)
) | SILENT.keys() | FIRST_SILENT.keys()  # fmt: skip
_CONTROL = re.compile(r"\\([a-zA-Z@]+)")
_PARAMETER = re.compile(r"#(\d)")
_DEEPEST = 24  # the maximum nesting of macros and arguments
# These commands take only the next token. If `\F` is `\mathcal{F}`, `\hat \F` becomes `\hat {\mathcal{F}}`.
_TAKES_ONE = re.compile(
    r"(?:[\^_]|\\(?:(?:wide)?(?:hat|tilde|check)|bar|vec|d?dot|acute|grave|breve|over(?:line|set)|underline|sqrt|bm"
    r"|mathbb|boldsymbol|math(?:bf|rm|cal|sf|it|tt|frak|scr|ring)|text|operatorname)\*?)[ \t]{0,9}\Z"
)
# Matches a macro body that prints its argument in bold or italics, at the start of a paragraph or before a full stop or
# space.
_RUN_IN = re.compile(
    r"\s*+(?P<before>(?:\\(?:noindent|indent|par|(?:small|med|big)skip|[vh]space\*?\s*+\{[^{}]{0,40}\}"
    r"|vskip\s*+[^\s\\{}]{1,20})(?![a-zA-Z])\s*+)*+)"
    r"(?:[{\s]|\\(?:normalsize|small|large|sffamily|textsf|underline)(?![a-zA-Z]))*+"
    r"\\(?P<style>textbf|bf|bfseries|textit|emph|textsc|em|it|itshape|sc|scshape)(?![a-zA-Z])"
    r"(?:[{\s]|\\(?:textbf|bf|bfseries|textit|emph|textsc|em|it|itshape|sc|scshape|sffamily)(?![a-zA-Z]))*+"
    r"#1(?P<after>(?:[}\s.:~—-]|\\textemdash(?![a-zA-Z])"
    r"|\\(?:q?quad|enspace|xspace|[ ,;/]|hspace\*?\s*+\{[^{}]{0,40}\}))*+)"
)
_REFERS = re.compile(r"\\ref\s*+\{[^{}#]{1,40}#1\}")  # matches the body of a macro that adds a prefix to labels
_SETS_LABEL = re.compile(r"\\label\s*+\{([^{}#]{0,40}#1[^{}#]{0,40})\}")
_BOLD = frozenset(("textbf", "bf", "bfseries"))
_ONE_TOKEN = re.compile(r"\s*+(?:\\(?:[a-zA-Z@]+|.)|[^\\]|\{[^{}]*\})\s*+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Macros:
    """The macros that a paper defines. `table` maps names to (number of arguments, body). If a macro's first argument
    is optional, `defaults` contains its default. `definitions` contains the spans of the definitions in the text."""

    table: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    definitions: tuple[tuple[int, int], ...] = ()


def find_macros(text: str) -> Macros:
    r"""Returns the macro definitions in `text`. The last definition of a name wins, but `\providecommand` never
    replaces an earlier one."""
    if _DEFINITION.search(text) is None:
        return Macros()
    tex = Tex(text)
    table: dict[str, tuple[int, str]] = {}
    defaults: dict[str, str] = {}
    spans: list[tuple[int, int]] = []
    at = 0
    while match := _DEFINITION.search(text, at):
        at = match.end()
        name = next(match[group] for group in ("a", "b", "c", "d", "e", "f", "environment") if match[group])
        if match["let"]:
            spans.append(match.span())
            same = match["same"][1:]
            if name not in _RESERVED and same != name:
                table[name] = table.get(same, (0, match["same"]))
                if same in defaults:
                    defaults[name] = defaults[same]
            continue
        if match["environment"]:
            end = arguments_end(tex, at)
            spans.append((match.start(), end))
            if match["environment"] != "newtheorem" and (own := _environment(tex, at, match["environment"])):
                environment, count, default, (before, behind) = own
                table |= {begin_key(environment): (count, before), end_key(environment): (0, behind)}
                defaults |= {begin_key(environment): default} if default is not None else {}
            at = end
            continue
        if match["paired"]:
            left, right = tex.group(at), None
            right = tex.group(left.after) if left is not None else None
            if left is not None and right is not None and name not in _RESERVED:
                spans.append((match.start(), right.after))
                at = right.after
                table[name] = (1, f"{tex.inner(left)} #1 {tex.inner(right)}")
            continue
        specification = "".join((match["m"] or "").split())
        count, default = len(match["parameters"] or "") // 2 or specification.count("m"), None
        if match["command"]:
            if number := _COUNT.match(text, at):
                count, at = int(number[1]), number.end()
            if option := tex.option(at):
                default, at = tex.inner(option), option.after
        group = tex.group(at)
        if group is None or group.after == group.end:
            continue
        at = group.after
        spans.append((match.start(), at))
        body = tex.inner(group)
        if specification.strip("m"):  # commands with stars or options are only recognised as headings
            heading = _HEADING.search(body)
            if heading is None or count != 1:
                continue
            body = rf"\{heading[1]}{{#1}}"
        if match["operator"]:
            body = rf"\operatorname{{{body}}}"
        # later uses of a macro that prints nothing are already gone from the text
        known = name in table and (match["command"] == "providecommand" or (count > 0 and not body.strip()))
        reserved = name in _RESERVED and not (name in REFERENCES and _REFERS.search(body))
        if known or reserved or len(body) > _LONGEST_BODY or _DECIDES.search(body):
            continue
        table[name] = (count, body)
        defaults.pop(name, None)
        if default is not None and count:
            defaults[name] = default
    saved = {name: body for name, (count, body) in table.items() if not count and _OTHER_NAME.fullmatch(body)}
    if saved:  # saved with `\\let\\oldsection\\section`
        for name, (count, body) in table.items():
            table[name] = count, _CONTROL.sub(lambda match: saved.get(match[1], match[0]), body)
    return Macros(table, defaults, tuple(spans))


def begin_key(environment: str) -> str:
    """Returns the key for the text that an environment prints before its body. Use `end_key` for the text after the
    body."""
    return f"begin{{{environment}}}"


def end_key(environment: str) -> str:
    return f"end{{{environment}}}"


def opens_algorithm(table: Mapping[str, tuple[int, str]], environment: str) -> bool:
    """Returns whether a paper-defined environment opens an algorithm environment."""
    opened = _BEGINS.search(table.get(begin_key(environment), (0, ""))[1])
    return opened is not None and opened[1] in ALGORITHMS


def _environment(tex: Tex, at: int, kind: str) -> tuple[str, int, str | None, list[str]] | None:
    """Returns the environment defined at an offset: its name, number of arguments, default first argument (if
    optional), and the code before and after its body."""
    name = tex.group(at)
    if name is None:
        return None
    number = _COUNT.match(tex.text, name.after)
    option = tex.option(number.end()) if number else None
    after, codes = tex.skip_options(name.after), list[str]()
    wanted = 3 if "Document" in kind else 1 if kind.endswith("Environ") else 2
    while len(codes) < wanted and (group := tex.group(after)) and group.after > group.end:
        codes.append(tex.inner(group))
        after = group.after
    count = int(number[1]) if number else codes[0].count("m") if wanted == 3 and codes else 0
    around = codes[0].split("\\BODY", 1) if wanted == 1 and codes else codes[-2:]
    if len(codes) < wanted or len(around) < 2 or any(len(c) > _LONGEST_BODY or _DECIDES.search(c) for c in around):
        return None
    return tex.inner(name), count, tex.inner(option) if option else None, around


def arguments_end(tex: Tex, at: int) -> int:
    """Returns the offset after all options and arguments at `at`."""
    while True:
        nearest = tex.skip_options(at)
        group = tex.group(nearest)
        if group is None or group.after == group.end:
            return nearest
        at = group.after


def aliases(macros: Macros) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    r"""Returns the macros for environments (`\be` → `\begin{equation}`) and for headings (`\mysection{…}` → `section`).

    A macro that begins a paragraph with its argument in bold, such as `\xhdr{…}`, is a `paragraph` heading."""
    borders: dict[str, tuple[str, str]] = {}
    headings: dict[str, str] = {}
    for name, (count, body) in macros.table.items():
        environments = re.findall(r"\\(begin|end)\s*\{([a-zA-Z@]+\*?)\}", body) if len(body) < 200 else []
        if count == 0 and len(environments) == 1:
            borders[name] = environments[0]
        if count == 0 and (started := _STARTS_SECTION.search(body)):
            headings[name] = _NAMES_OF_LEVELS[min(int(started[1]), 4) - 1]
        heading = _HEADING.search(body) if count else _OTHER_NAME.fullmatch(body)
        if heading and (count < 2 or heading[3]):
            headings[name] = heading[1]
        elif (
            count == 1
            and re.search(r"(?i)par(?:a|t|agraph|head)?$|^par|head|topic", name)
            and re.search(r"\\(?:textbf|bf|bfseries|textit|emph|textsc|em|it)\b[^#]{0,60}#1", body)
        ) or (count == 1 and _begins_paragraph(body)):
            headings[name] = "paragraph"
    return borders, headings


def heading_arguments(macros: Macros, name: str) -> tuple[int, int]:
    r"""Returns which mandatory argument of a heading macro is the title, and how many belong to the heading (2 for
    `\subsection{#1}\label{sec:#2}`)."""
    count, body = macros.table.get(name, (0, ""))
    heading = _HEADING.search(body) if count else None
    if heading is None:
        return 1, 1
    optional = name in macros.defaults
    title = int(heading[2]) - optional
    return title, count - optional if heading.end() == len(body.rstrip()) else title


def _begins_paragraph(body: str) -> bool:
    found = _RUN_IN.fullmatch(body)
    if found is None:
        return False
    after = found["after"]
    stopped = re.search(r"[.:]|quad|enspace|hspace", after) is not None
    dash = "---" in after or "—" in after or "emdash" in after
    return bool(found["before"]) or dash or (found["style"] in _BOLD and stopped)


@dataclass(slots=True)
class _Budget:
    expansions: int
    characters: int


def expand(text: str, table: Mapping[str, tuple[int, str]], defaults: Mapping[str, str] | None = None) -> str:
    """Expands the macros from `table` in `text`, within limits on depth and size that no real paper exceeds."""
    if not table:
        return text
    budget = _Budget(expansions=2000 + len(text), characters=200_000 + 20 * len(text))
    return _expand(text, table, defaults or {}, frozenset(), budget)


def _expand(
    text: str,
    table: Mapping[str, tuple[int, str]],
    defaults: Mapping[str, str],
    inside: frozenset[str],
    budget: _Budget,
    depth: int = 0,
) -> str:
    if "\\" not in text or depth >= _DEEPEST:
        return text
    tex: Tex | None = None
    out: list[str] = []
    done = 0
    for match in _CONTROL.finditer(text):
        name = match[1]
        if match.start() < done or name not in table or name in inside or _escaped(text, match.start()):
            continue
        if budget.expansions <= 0 or budget.characters <= 0:
            break
        tex = tex or Tex(text)
        count, body = table[name]
        arguments, after = given_arguments(tex, match.end(), count, defaults.get(name))
        if arguments is None:
            continue
        budget.expansions -= 1
        # arguments come first, because a macro may occur in its own argument but not in its own body
        given = [_expand(argument, table, defaults, inside, budget, depth + 1) for argument in arguments]
        replaced = filled(body, given)
        budget.characters -= len(replaced)
        before = text[done : match.start()]
        out.append(before)
        replaced = _expand(replaced, table, defaults, inside | {name}, budget, depth + 1)
        follows = text[after : after + 1]
        if _TAKES_ONE.search(text, max(0, match.start() - 30), match.start()) and not _ONE_TOKEN.fullmatch(replaced):
            replaced = f"{{{replaced}}}"
        elif count == 0 and follows.isalpha() and re.search(r"\\[a-zA-Z@]+$", replaced[-40:]):
            replaced += " "
        out.append(replaced)
        done = after
    out.append(text[done:])
    return "".join(out)


def filled(body: str, arguments: list[str]) -> str:
    pieces = _PARAMETER.split(body)
    for index in range(1, len(pieces), 2):
        number = int(pieces[index])
        pieces[index] = arguments[number - 1] if 0 < number <= len(arguments) else ""
    return "".join(pieces)


def _escaped(text: str, position: int) -> bool:
    backslashes = 0
    while position > backslashes and text[position - 1 - backslashes] == "\\" and backslashes < 100:
        backslashes += 1
    return backslashes % 2 == 1


def given_arguments(tex: Tex, at: int, count: int, default: str | None) -> tuple[list[str] | None, int]:
    values: list[str] = []
    if count and default is not None:
        option: Group | None = tex.option(at)
        values.append(default if option is None else tex.inner(option))
        at = at if option is None else option.after
    while len(values) < count:
        group = tex.argument(at)
        if group is None:
            return None, at
        values.append(tex.inner(group))
        at = group.after
    return values, at


def unprinted(table: Mapping[str, tuple[int, str]]) -> frozenset[str]:
    r"""Returns the one-argument macros that print nothing, such as `\newcommand{\cut}[1]{}`. Authors use such macros to
    hide text."""
    return frozenset(name for name, (count, body) in table.items() if count == 1 and not body.strip())


def label_macros(table: Mapping[str, tuple[int, str]]) -> dict[str, str]:
    r"""Maps each one-argument macro that sets a label to that label, with `#1` for the argument: `\label{sec:#1}` →
    `sec:#1`."""
    labels = {name: _SETS_LABEL.search(body) for name, (count, body) in table.items() if count == 1}
    return {name: match[1] for name, match in labels.items() if match}
