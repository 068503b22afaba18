r"""Which parts of a LaTeX source are printed: `\if…`, toggles, and environments that swallow their text.

Values come from what the document itself sets (`\newif`, toggles, macros of one word, class options). This is not an
interpreter: a conditional with another test has no value, and both of its branches are read."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xkg.build.paper.latex.tex.commands import HEADINGS
from xkg.build.paper.latex.tex.tokens import Group, Tex

Span = tuple[int, int]
Parts = Mapping[int, tuple[Span | None, Span]]

SETTING = (
    r"\\newif[ \t]*+\\if(?P<newif>[a-zA-Z@]+)"
    r"|\\let[ \t]*+\\if(?P<let_if>[a-zA-Z@]+)[ \t]*+=?[ \t]*+\\if(?P<let_value>true|false)(?![a-zA-Z@])"
    r"|\\let[ \t]*+\\(?P<let_comment>[a-zA-Z@]+)[ \t]*+=?[ \t]*+\\comment(?![a-zA-Z@])"
    r"|\\(?:new|provide)(?P<new>bool(?:ean)?|toggle)[ \t]*+\{(?P<new_name>[^{}\\\n]{1,60})\}"
    r"|\\set(?P<set>bool(?:ean)?|toggle)[ \t]*+\{(?P<set_name>[^{}\\\n]{1,60})\}[ \t]*+\{(?P<set_value>true|false)\}"
    r"|\\(?P<turn>bool|toggle)(?P<turn_value>true|false)[ \t]*+\{(?P<turn_name>[^{}\\\n]{1,60})\}"
    r"|\\(?P<switch>(?!if)[a-zA-Z@]{1,40}?)(?P<switch_value>true|false)(?![a-zA-Z@])"
    r"|\\(?:(?:re)?newcommand|providecommand|[gex]?def)\*?"
    r"[ \t]*+(?:\{\\(?P<macro>[a-zA-Z@]{1,40})\}|\\(?P<def>[a-zA-Z@]{1,40}))"
    r"[ \t]*+\{(?P<word>[^{}\\#%\n]{0,200}|(?:\{[^{}\\#%\n]{1,100}\}){1,20})\}"
    r"|\\(?P<swallow>ex|in)cludecomment[ \t]*+\{(?P<swallow_name>[a-zA-Z*]{1,40})\}"
    r"|\\(?:re)?newenvironment\*?[ \t]*+\{(?P<hidden>[a-zA-Z*]{1,40})\}\s*+\{\s*+"
    r"\\(?:comment(?![a-zA-Z])|begin\{comment\})"
    r"|\\(?:Ren|N)ewEnviron[ \t]*+\{(?P<unused>[a-zA-Z*]{1,40})\}\s*+\{\s*+\}"
    r"|\\documentclass[ \t]*+\[(?P<options>[^][]{0,500})\]"
)
"""A command that decides what is printed, or a macro that is one word."""
CONDITIONAL = (
    r"(?P<unless>\\unless[ \t]*+)?\\(?P<if>if(?!f(?![a-zA-Z@]))[a-zA-Z@]*+)"
    r"|\\(?P<braced_if>nottoggle|notbool|IfFileExists|InputIfFileExists)(?![a-zA-Z@])"
)

_NESTED = re.compile(
    r"(?<!\\)%[^\n]*+|\\(?:newif|let)[ \t]*+\\if[a-zA-Z@]++"
    r"|\\(?:(?P<fi>fi)|(?P<else>else)|(?P<if>if(?!f(?![a-zA-Z@]))[a-zA-Z@]*+))(?![a-zA-Z@])"
)
_DECLARED = re.compile(r"\\newif[ \t]*+\\if([a-zA-Z@]++)")
_PRIMITIVES = frozenset(
    "if ifcat ifx ifnum ifdim ifodd ifvmode ifhmode ifmmode ifinner ifvoid ifhbox ifvbox ifeof iftrue iffalse ifcase "
    "ifdefined ifcsname".split()
)
_PDFTEX = {
    "pdf": True,
    "pdftex": True,
    "PDFTeX": True,
    "xetex": False,
    "XeTeX": False,
    "luatex": False,
    "LuaTeX": False,
}
"""arXiv's engine is pdfTeX."""
_DEFINING = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|[gex]?def|DeclareOption|DeclareRobustCommand)(?![a-zA-Z])"
)
_CONTROL = re.compile(r"\\([a-zA-Z@]+)[ \t]*+\n?[ \t]*+")
_NUMBERS = re.compile(
    r"\s*+(-?\d{1,9}|\\[a-zA-Z@]+)\s*+([<>=])\s*+(-?\d{1,9}|\\[a-zA-Z@]+)(?:\\relax(?![a-zA-Z@]))?\s?"
)
_MACROS = re.compile(r"\s*+\\([a-zA-Z@]+)\s*+\\([a-zA-Z@]+)[ \t]*+")
_THEN = re.compile(
    r"\s*+(?P<not>\\(?:not|NOT)\s*+)?(?:\\boolean\s*+\{(?P<bool>[^{}]{1,60})\}|\\equal\s*+\{(?P<a>[^{}]{0,100})\}\s*+\{(?P<b>[^{}]{0,100})\}|(?P<numbers>-?[\w\\@]{1,40}\s*+[<>=]\s*+-?[\w\\@]{1,40}))\s*+$"
)


def defines(text: str, at: int) -> bool:
    """Whether the line up to an offset begins a definition, so that what follows is done later, or never."""
    return _DEFINING.search(text, max(0, at - 300, text.rfind("\n", max(0, at - 300), at)), at) is not None


@dataclass(slots=True)
class Conditions:
    """What the document has set so far. `words` are macros of one word; `swallowed` are environments not printed."""

    values: dict[str, bool] = field(default_factory=lambda: {"draft": False, **_PDFTEX})
    toggles: dict[str, bool] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=lambda: {"empty": "", "@empty": ""})
    swallowed: set[str] = field(default_factory=lambda: {"comment"})

    def set(self, text: str, match: re.Match[str]) -> None:
        """Takes note of a `SETTING`."""
        if name := match["newif"]:
            self.values[name] = False
        elif name := match["let_if"]:
            self.values[name] = match["let_value"] == "true"
        elif match["new"]:
            self._bools(match["new"]).setdefault(match["new_name"], False)
        elif match["set"]:
            self._bools(match["set"])[match["set_name"]] = match["set_value"] == "true"
        elif match["turn"]:
            self._bools(match["turn"])[match["turn_name"]] = match["turn_value"] == "true"
        elif (name := match["switch"]) in self.values and not defines(text, match.start()):
            self.values[name] = match["switch_value"] == "true"
        elif name := match["macro"] or match["def"]:
            self.words[name] = match["word"]
        elif name := match["swallow_name"]:
            (self.swallowed.add if match["swallow"] == "ex" else self.swallowed.discard)(name)
        elif name := match["hidden"] or match["unused"] or match["let_comment"]:
            self.swallowed.add(name)
        elif match["options"] and "draft" in re.split(r"[\s,]+", match["options"]):
            self.values["draft"] = True

    def _bools(self, kind: str) -> dict[str, bool]:
        return self.toggles if kind == "toggle" else self.values

    def expanded(self, name: str) -> str:
        """A file's name with the macros of one word in it replaced."""
        return re.sub(r"\\([a-zA-Z@]+)[ \t]*+", lambda m: self.words.get(m[1], m[0]), name)

    def unprinted(
        self,
        text: str,
        match: re.Match[str],
        tex: Callable[[], Tex],
        parts_of: Callable[[], Parts],
        exists: Callable[[str], bool],
    ) -> list[Span] | None:
        """The spans of a conditional that are not printed, its own commands included. None if its value or its end is
        not known. `parts_of` gives the `parts` of the text, `exists` tells whether the paper has a file."""
        name, after = match["if"] or match["braced_if"], match.end()
        if not self._is_plain(name, text, after):
            return self._of_groups(name, match.start(), after, tex(), exists)
        value, after = self._value(name, text, after)
        parts = None if value is None else parts_of().get(match.start("if") - 1)
        if value is None or parts is None:
            return None
        other, fi = parts
        if value is (match["unless"] is None):
            return [(match.start(), after), (other[0] if other else fi[0], fi[1])]
        return [(match.start(), other[1]), fi] if other else [(match.start(), fi[1])]

    def _is_plain(self, name: str, text: str, after: int) -> bool:
        r"""Whether a conditional ends with `\fi`; those of packages have their branches in braces."""
        if name in _PRIMITIVES or (name[2:] in self.values and name != "ifdraft"):
            return True
        return name.startswith("if") and not text[after : after + 20].lstrip().startswith("{")

    def parts(self, text: str) -> Parts:
        r"""The `\else`, if there is one, and the `\fi` of each conditional, by its start. One pass, since each of many
        conditionals may hold all others, or never end."""
        found: dict[int, tuple[Span | None, Span]] = {}
        open_: list[tuple[int, Span | None]] = []
        declared = set(_DECLARED.findall(text))
        for match in _NESTED.finditer(text):
            name = match["if"]
            if name and (name[2:] in declared or self._is_plain(name, text, match.end())):
                open_.append((match.start(), None))
            elif match["else"] and open_ and open_[-1][1] is None:
                open_[-1] = (open_[-1][0], match.span())
            elif match["fi"] and open_:
                start, other = open_.pop()
                found[start] = other, match.span()
        return found

    def _value(self, name: str, text: str, after: int) -> tuple[bool | None, int]:
        """The value of a test, and where it ends."""
        if name in ("iftrue", "iffalse"):
            return name == "iftrue", after
        if name == "if":
            return self._same_characters(text, after)
        if name == "ifnum" and (match := _NUMBERS.match(text, after)):
            return self._compared(match[1], match[2], match[3]), match.end()
        if name == "ifx" and (match := _MACROS.match(text, after)):
            known = match[1] in self.words and match[2] in self.words
            return self.words[match[1]] == self.words[match[2]] if known else None, match.end()
        return self.values.get(name[2:]), after

    def _compared(self, left: str, sign: str, right: str) -> bool | None:
        try:
            a, b = int(self.expanded(left)), int(self.expanded(right))
        except ValueError:
            return None
        return a < b if sign == "<" else a > b if sign == ">" else a == b

    def _same_characters(self, text: str, at: int) -> tuple[bool | None, int]:
        r"""`\if0\blind`, or `\if0` and a text: the next two characters, after macros of one word are expanded."""
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
        """Those of a conditional with its branches in braces."""
        groups: list[Group] = []
        while len(groups) < 3 and (group := tex.group(after)):
            groups.append(group)
            after = group.after
        if name == "ifdraft":
            value: bool | None = self.values["draft"]
        else:
            value = self._tested(name, tex.inner(groups.pop(0)).strip(), exists) if len(groups) == 3 else None
        if value is None or len(groups) < 2:
            return None
        yes, no = groups[:2]
        return [(start, yes.start), (yes.end, no.after)] if value else [(start, no.start), (no.end, no.after)]

    def _tested(self, name: str, test: str, exists: Callable[[str], bool]) -> bool | None:
        """The value of a test in braces."""
        match name:
            case "iftoggle":
                return self.toggles.get(test)
            case "nottoggle":
                return None if (value := self.toggles.get(test)) is None else not value
            case "ifbool":
                return self.values.get(test)
            case "notbool":
                return None if (value := self.values.get(test)) is None else not value
            case "IfFileExists" | "InputIfFileExists":
                return exists(self.expanded(test))
            case "ifthenelse":
                return self._then(test)
        return None

    def _then(self, test: str) -> bool | None:
        match = _THEN.match(test)
        if match is None:
            return None
        if match["bool"]:
            value = self.values.get(match["bool"])
        elif match["numbers"]:
            left, sign, right = re.split(r"\s*([<>=])\s*", match["numbers"])
            value = self._compared(left, sign, right)
        else:
            a, b = self.expanded(match["a"]), self.expanded(match["b"])
            value = None if "\\" in a + b else a.strip() == b.strip()
        return value if value is None or not match["not"] else not value
