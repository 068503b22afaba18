r"""Decides which parts of LaTeX source are printed. Evaluates `\if…` and toggles, and skips environments that discard
their text.

Values come from the document's settings: `\newif`, toggles, one-word macros and class options. A conditional that tests
anything else has an unknown value, and both branches are read."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xkg.build.paper.latex.tex.commands import HEADINGS
from xkg.build.paper.latex.tex.settings import SETTINGS, UNDEFINED, Settings, environment_codes, listed, set_name
from xkg.build.paper.latex.tex.tokens import Tex, outside

Span = tuple[int, int]
Borders = tuple[tuple[Span, ...], Span | None, Span]
r"""The `\or`s, the `\else` and the `\fi` of a conditional."""
Parts = Mapping[int, Borders]
"""The borders of each conditional, keyed by the offset at which it starts."""

CONDITIONAL = (
    r"(?P<unless>\\unless[ \t]*+)?\\(?P<if>if(?!f(?![a-zA-Z@]))[a-zA-Z@]*+)"
    r"|\\(?P<braced_if>nottoggle|notbool|notblank|IfFileExists|InputIfFileExists"
    r"|@if(?:undefined|(?:class|package)(?:loaded|with))|If(?:Class|Package)Loaded(?:WithOptions)?TF"
    r"|(?:bool_if:N|If(?:Boolean|(?:No)?Value))(?:TF?|F))(?![a-zA-Z@])"
)

_NESTED = re.compile(
    r"(?<!\\)%[^\n]*+|\\(?:newif|let)[ \t]*+\\if[a-zA-Z@]++"
    r"|\\(?:(?P<fi>fi)|(?P<or>or)|(?P<else>else)|(?P<if>if(?!f(?![a-zA-Z@]))[a-zA-Z@]*+))(?![a-zA-Z@])"
)
_DECLARED = re.compile(r"\\newif[ \t]*+\\if([a-zA-Z@]++)")
_PRIMITIVES = frozenset(
    "if ifcat ifx ifnum ifdim ifodd ifvmode ifhmode ifmmode ifinner ifvoid ifhbox ifvbox ifeof iftrue iffalse ifcase "
    "ifdefined ifcsname".split()
)
# Maps conditionals from packages to the number of arguments that their test takes. The branches of these conditionals
# are in braces.
_TESTS = {
    name: count
    for count, names in enumerate((
        "ifdraft",
        "iftoggle nottoggle ifbool notbool ifthenelse IfFileExists InputIfFileExists ifdef ifundef ifcsdef ifcsundef "
        "@ifundefined @ifclassloaded @ifpackageloaded IfClassLoadedTF IfPackageLoadedTF",
        "@ifclasswith @ifpackagewith IfClassLoadedWithOptionsTF IfPackageLoadedWithOptionsTF",
    ))
    for name in names.split()
}  # fmt: skip
# The branches of these conditionals are also in braces, but their values are always unknown.
_NOT_EVALUATED = frozenset(
    "ifblank ifstrempty ifdefempty ifdefvoid ifdefstring ifcsstring ifstrequal ifdefequal ifnumcomp ifnumequal "
    "ifnumgreater ifnumless".split()
)
_EXPANDED = re.compile(r"(?:\s*+\\expandafter(?![a-zA-Z]))++")
_LOADED = re.compile(r"@?[Ii]f(?:(?P<class>[Cc]lass)|[Pp]ackage)")
_OPTION = re.compile(r"\\DeclareOption(?:\*|[ \t]*+\{([^{}\\]{1,60})\})\s*+(?=\{)")
_DEFAULTS = re.compile(r"\\ExecuteOptions[ \t]*+\{([^{}\\]{1,400})\}")
_COUNTER = re.compile(r"\\value\s*+\{([a-zA-Z@]+)\}")
_CONTROL = re.compile(r"\\([a-zA-Z@]+)[ \t]*+\n?[ \t]*+")
_NUMBERS = re.compile(
    r"\s*+(-?\d{1,9}|\\[a-zA-Z@]+(?:\{[a-zA-Z@]+\})?)\s*+([<>=])\s*+(-?\d{1,9}|\\[a-zA-Z@]+(?:\{[a-zA-Z@]+\})?)(?:\\relax(?![a-zA-Z@]))?\s?"
)
_MACROS = re.compile(r"\s*+\\([a-zA-Z@]+)\s*+\\([a-zA-Z@]+)[ \t]*+")
_NUMBER = re.compile(r"\s*+(-?\d{1,9}|\\[a-zA-Z@]+)(?:\s*+\\relax(?![a-zA-Z@]))?\s?")
_ONE_MACRO = re.compile(r"\s*+\\([a-zA-Z@]+)[ \t]*+")
_OPERATOR = re.compile(r"\\(AND|OR|NOT|and|or|not)(?![a-zA-Z])")
_TEST = re.compile(
    r"\\boolean\s*+\{(?P<bool>[^{}]{1,60})\}"
    r"|\\isundefined\s*+\{?\s*+\\(?P<undefined>[a-zA-Z@]{1,40})\s*+\}?"
    r"|\\equal\s*+\{(?P<a>[^{}]{0,100})\}\s*+\{(?P<b>[^{}]{0,100})\}"
    r"|(?P<left>-?[\w\\@]{1,40})\s*+(?P<sign>[<>=])\s*+(?P<right>-?[\w\\@]{1,40})"
)


def _with_options(text: str, options: frozenset[str]) -> str:
    """Inlines the code for default and given options in a class or style file, and removes the code for all others."""
    tex, codes, cut = Tex(text), dict[str, str](), list[Span]()
    for match in _OPTION.finditer(text):
        if group := tex.group(match.end()):
            codes[match[1] or "*"] = tex.inner(group)
            cut.append((match.start(), group.after))
    bare = outside(text, cut)
    at = bare.find("\\ProcessOptions")
    names = [name.strip() for match in _DEFAULTS.finditer(bare) for name in match[1].split(",")]
    runs = "\n".join(codes[name] for name in (*names, *(name for name in codes if name in options)) if name in codes)
    return f"{bare[:at]}{runs}\n{bare[at:]}" if codes and at >= 0 else text


@dataclass(slots=True)
class Conditions(Settings):
    """Evaluates conditions with the settings read so far."""

    def set_by_style(self, path: str, text: str) -> None:
        """Applies the settings in a class or style file that is loaded with these options. Settings inside braces or a
        condition may run later or never, so the values that they affect become unknown."""
        given = (options for file, options in self.loaded.items() if file == path or file.endswith(".cls"))
        text = _with_options(text, frozenset[str]().union(*given))
        tex = Tex(text)
        spans = sorted([*tex.pairs(), *((start, fi[1]) for start, (_, _, fi) in self.parts(text).items())])
        spans.reverse()
        until, own, unsure = 0, set[str](), set[str]()
        for match in SETTINGS.finditer(text):
            while spans and spans[-1][0] < match.start():
                until = max(until, spans.pop()[1])
            name = set_name(match)
            if match.start() < until:
                unsure |= {name} if name else set()
            elif match["environment"]:
                self.set_environment(match, environment_codes(tex, match), boxes=False)
            else:
                own |= {name} if name else set()
                self.set(text, match)
        for name in own & unsure:
            for table in self.tables():
                table.pop(name, None)

    def unprinted(
        self,
        text: str,
        match: re.Match[str],
        tex: Callable[[], Tex],
        parts_of: Callable[[], Parts],
        exists: Callable[[str], bool],
    ) -> list[Span] | None:
        """Returns the unprinted parts of a conditional, including its own commands, or None if its value or end is
        unknown. `parts_of` returns the `parts` of the text. `exists` returns whether a file belongs to the paper."""
        name, after = match["if"] or match["braced_if"], match.end()
        if not self._is_plain(name, text, after):
            return self._of_groups(name, match.start(), after, tex(), exists)
        parts = parts_of().get(match.start("if") - 1)
        if parts is None:
            return None
        ors, other, fi = parts
        if name == "ifcase":
            return self._of_cases(text, match.start(), after, [*ors, *([other] if other else ()), fi], bool(other))
        value, after = self._value(name, text, after)
        if value is None:
            return None
        if value is (match["unless"] is None):
            return [(match.start(), after), (other[0] if other else fi[0], fi[1])]
        return [(match.start(), other[1]), fi] if other else [(match.start(), fi[1])]

    def _of_cases(self, text: str, start: int, after: int, borders: list[Span], otherwise: bool) -> list[Span] | None:
        r"""Returns the unprinted spans of an `\ifcase`. The branches end at `borders`. If `otherwise` is True, the last
        branch is the default."""
        number = _NUMBER.match(text, after)
        try:
            n = int(self.expanded(number[1])) if number else -1
        except ValueError:
            return None
        if number is None:
            return None
        branches = len(borders)
        if not 0 <= n < branches - otherwise:
            n = branches - 1 if otherwise else -1
        if n < 0:
            return [(start, borders[-1][1])]
        first = number.end() if n == 0 else borders[n - 1][1]
        return [(start, first), (borders[n][0], borders[-1][1])]

    def _is_plain(self, name: str, text: str, after: int) -> bool:
        r"""Returns whether a conditional ends with `\fi`. Conditionals from packages enclose their branches in
        braces."""
        if name in _PRIMITIVES or (name[2:] in self.values and name != "ifdraft"):
            return True
        if name in _TESTS or name in _NOT_EVALUATED:
            return False
        return name.startswith("if") and not text[after : after + 20].lstrip().startswith("{")

    def parts(self, text: str) -> Parts:
        """Finds the `Parts` of a text in one pass, because conditionals may be deeply nested or never end."""
        found: dict[int, Borders] = {}
        open_: list[tuple[int, list[Span], Span | None]] = []
        declared = set(_DECLARED.findall(text))
        for match in _NESTED.finditer(text):
            name = match["if"]
            if name and (name[2:] in declared or self._is_plain(name, text, match.end())):
                open_.append((match.start(), [], None))
            elif match["or"] and open_:
                open_[-1][1].append(match.span())
            elif match["else"] and open_ and open_[-1][2] is None:
                open_[-1] = (*open_[-1][:2], match.span())
            elif match["fi"] and open_:
                start, ors, other = open_.pop()
                found[start] = tuple(ors), other, match.span()
        return found

    def _value(self, name: str, text: str, after: int) -> tuple[bool | None, int]:
        """Returns the value of a test, and the offset after the test."""
        if name in ("iftrue", "iffalse"):
            return name == "iftrue", after
        if name == "ifmmode":
            return False, after
        if name == "if":
            return self._same_characters(text, after)
        if name == "ifnum" and (match := _NUMBERS.match(text, after)):
            return self._compared(match[1], match[2], match[3]), match.end()
        if name == "ifodd" and (match := _NUMBER.match(text, after)):
            return self._compared(match[1], "odd", "0"), match.end()
        if name == "ifdefined" and (match := _ONE_MACRO.match(text, after)):
            return self.is_defined(match[1]), match.end()
        if name == "ifcsname" and (end := text.find("\\endcsname", after, after + 60)) > 0:
            return self.is_defined(text[after:end].strip()), end + len("\\endcsname")
        if name == "ifx" and (match := _MACROS.match(text, after)):
            if match[2] in UNDEFINED:
                there = self.is_defined(match[1])
                return None if there is None else not there, match.end()
            known = match[1] in self.words and match[2] in self.words
            return self.words[match[1]] == self.words[match[2]] if known else None, match.end()
        return self.values.get(name[2:]), after

    def _compared(self, left: str, sign: str, right: str) -> bool | None:
        try:
            a, b = (int(self.expanded(_COUNTER.sub(r"\\c@\1 ", side))) for side in (left, right))
        except ValueError:
            return None
        return a % 2 == 1 if sign == "odd" else a < b if sign == "<" else a > b if sign == ">" else a == b

    def _same_characters(self, text: str, at: int) -> tuple[bool | None, int]:
        r"""Compares the next two characters after expanding one-word macros, as in `\if0\blind` and in `\if0` followed
        by text."""
        at += len(text[at : at + 50]) - len(text[at : at + 50].lstrip(" \t"))
        found, pending = "", ""
        while len(found) < 2:
            if pending:
                found, pending = found + pending[0], pending[1:]
            elif match := _CONTROL.match(text, at):
                if match[1] not in self.words:
                    prints = match[1] in HEADINGS or match[1] == "begin"
                    return (False if found and prints else None), at
                pending, at = self.words[match[1]], match.end()
            elif at < len(text) and text[at] not in "\\{}%":
                found, at = found + text[at], at + 1
            else:
                return None, at
        return found[0] == found[1], at

    def _of_groups(
        self, name: str, start: int, after: int, tex: Tex, exists: Callable[[str], bool]
    ) -> list[Span] | None:
        """Returns the unprinted spans of a conditional whose branches are in braces."""
        tests: list[str] = []
        while len(tests) < _TESTS.get(name, 1):
            expanded = _EXPANDED.match(tex.text, after)
            argument = tex.argument(expanded.end() if expanded else after)
            if argument is None:
                break
            inner = tex.inner(argument).strip()
            tests.append(self.expanded(inner) if expanded else inner)
            after = argument.after
        value = self._tested(name, tests, exists) if len(tests) == _TESTS.get(name) else None
        yes = tex.group(after)
        no = tex.group(yes.after) if yes else None
        if value is None or yes is None or no is None:
            return None
        return [(start, yes.start), (yes.end, no.after)] if value else [(start, no.start), (no.end, no.after)]

    def _tested(self, name: str, tests: list[str], exists: Callable[[str], bool]) -> bool | None:
        first, second = (*tests, "", "")[:2]
        macro = first.lstrip("\\")
        if name.startswith("not") or name in ("ifundef", "ifcsundef", "@ifundefined"):
            positive = {"nottoggle": "iftoggle", "notbool": "ifbool"}.get(name, "ifcsdef")
            value = self._tested(positive, tests, exists)
            return None if value is None else not value
        match name:
            case "ifdraft":
                return self.values["draft"]
            case "iftoggle":
                return self.toggles.get(first)
            case "ifbool":
                return self.values.get(first)
            case "ifdef" | "ifcsdef":
                return self.is_defined(macro)
            case _ if loaded := _LOADED.match(name):
                options = self.loaded.get(first + (".cls" if loaded["class"] else ".sty"))
                if options is None:  # another package may have loaded this package
                    return False if loaded["class"] else None
                return len(tests) == 1 or listed(second) <= options
            case "IfFileExists" | "InputIfFileExists":
                return exists(self.expanded(first))
            case "ifthenelse":
                return self._combined(first)
        return None

    def _combined(self, test: str) -> bool | None:
        """Returns the value of several tests combined from left to right."""
        test = _COUNTER.sub(r"\\c@\1 ", test)
        value: bool | None = True
        at, operator, negated = 0, "and", False
        for match in (*_OPERATOR.finditer(test), None):
            if part := test[at : match.start() if match else len(test)].strip():
                one = self._one_test(part)
                one = not one if negated and one is not None else one
                decides = operator == "or"  # the value that settles the result without further tests
                value = decides if decides in (value, one) else None if None in (value, one) else not decides
                negated = False
            if match:
                at, word = match.end(), match[1].lower()
                operator, negated = (operator, not negated) if word == "not" else (word, negated)
        return value

    def _one_test(self, test: str) -> bool | None:
        match = _TEST.fullmatch(test)
        if match is None:
            return None
        if match["bool"]:
            return self.values.get(match["bool"])
        if match["undefined"]:
            defined = self.is_defined(match["undefined"])
            return None if defined is None else not defined
        if match["sign"]:
            return self._compared(match["left"], match["sign"], match["right"])
        a, b = self.expanded(match["a"]), self.expanded(match["b"])
        return None if re.search(r"[\\#]", a + b) else a.strip() == b.strip()
