r"""Reads the settings that decide which parts of LaTeX source are printed: switches, toggles, one-word macros and
packages."""

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from xkg.build.paper.latex.tex.text import is_known
from xkg.build.paper.latex.tex.tokens import Tex

State = tuple[list[Any], bool, bool]
_NAMES = (
    "newif let_if let_comment new_name set_name turn_name switch macro def let swallow_name environment register"
).split()

SETTING = (
    r"\\newif[ \t]*+\\if(?P<newif>[a-zA-Z@]+)"
    r"|\\let[ \t]*+\\if(?P<let_if>[a-zA-Z@]+)[ \t]*+=?[ \t]*+\\if(?P<let_value>true|false)(?![a-zA-Z@])"
    r"|\\let[ \t]*+\\(?P<let_comment>[a-zA-Z@]+)[ \t]*+=?[ \t]*+\\comment(?![a-zA-Z@])"
    r"|\\(?:new|provide)(?P<new>bool(?:ean)?|toggle)[ \t]*+\{(?P<new_name>[^{}\\\n]{1,60})\}"
    r"|\\set(?P<set>bool(?:ean)?|toggle)[ \t]*+\{(?P<set_name>[^{}\\\n]{1,60})\}[ \t]*+\{(?P<set_value>true|false)\}"
    r"|\\(?P<turn>bool|toggle)(?P<turn_value>true|false)[ \t]*+\{(?P<turn_name>[^{}\\\n]{1,60})\}"
    r"|\\(?P<switch>(?!if)[a-zA-Z@]{1,40}?)(?P<switch_value>true|false)(?![a-zA-Z@])"
    r"|\\(?:(?:re)?newcommand|(?P<provide>providecommand)|[gex]?def|DeclareRobustCommand|csg?def"
    r"|(?P<specified>(?:New|Renew|Provide|Declare)(?:Expandable)?DocumentCommand))\*?"
    r"[ \t]*+(?:\{\\?(?P<macro>[a-zA-Z@]{1,40})\}|\\(?P<def>[a-zA-Z@]{1,40}))(?:\[0\])?"
    r"(?:[ \t]*+(?(specified)\{\}[ \t]*+)\{(?P<word>[^{}\\#%\n]{0,200}|(?:\{[^{}\\#%\n]{1,100}\}){1,20}"
    r"|(?P<path>[\w./-]{0,80}(?:\\[a-zA-Z@]{1,40}(?:/[\w.-]{1,80}){1,10}){1,3}/?))\})?"
    r"|\\let[ \t]*+\\(?P<let>[a-zA-Z@]{1,40})[ \t]*+=?[ \t]*+(?P<let_to>\\[a-zA-Z@]{1,40})?"
    r"|\\(?P<swallow>ex|in)clude(?:comment|version)[ \t]*+\{(?P<swallow_name>[a-zA-Z*]{1,40})\}"
    r"|\\includeonly[ \t]*+\{(?P<only>[^{}]{0,5000})\}"
    r"|\\(?P<kind>(?:re)?newenvironment|(?:Ren|N)ewEnviron|(?:New|Renew|Provide|Declare)DocumentEnvironment)\*?[ \t]*+"
    r"\{(?P<environment>[a-zA-Z@]{1,40}\*?)\}"
    r"|\\setcounter[ \t]*+\{(?P<counter>[a-zA-Z@]{1,40})\}[ \t]*+\{(?P<count>-?\d{1,9})\}"
    r"|\\(?P<register>[a-zA-Z@]{1,40})[ \t]*+=[ \t]*+(?P<number>-?\d{1,9})(?![\d.]|[ \t]?[a-z]{2})"
    r"|\\(?:(?P<class>documentclass|LoadClass)|usepackage|RequirePackage)[ \t]*+"
    r"(?:\[(?P<options>[^][]{0,500})\][ \t]*+)?(?:\{(?P<packages>[\w ,./\n-]{1,400})\})?"
)
"""Matches a command that decides which parts are printed, or the definition of a one-word macro."""
SETTINGS = re.compile(SETTING)
_PDFTEX = dict.fromkeys(("pdf", "pdftex", "PDFTeX"), True) | dict.fromkeys(
    ("xetex", "XeTeX", "luatex", "LuaTeX"), False
)
"""arXiv compiles papers with pdfTeX."""
_DEFINING = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|[gex]?def|DeclareOption|DeclareRobustCommand)(?![a-zA-Z])"
)
_SWALLOWS = re.compile(
    r"(?:\s|\\expandafter(?![a-zA-Z]))*+\\(?:comment(?![a-zA-Z])|begin\{comment\}|killcontents"
    r"|Collect@Body[ \t]*+\\@gobble|(?P<box>setbox))"
)
UNDEFINED = frozenset(("undefined", "@undefined"))


def defines(text: str, at: int) -> bool:
    """Returns whether a definition starts before `at` on the same line, so that TeX runs the text after `at` later or
    never."""
    return _DEFINING.search(text, max(0, at - 300, text.rfind("\n", max(0, at - 300), at)), at) is not None


def set_name(match: re.Match[str]) -> str | None:
    """Returns the name that a `SETTING` sets."""
    return next((match[group] for group in _NAMES if match[group]), None)


def environment_codes(tex: Tex, match: re.Match[str]) -> list[str]:
    """Returns the arguments that follow the name in an environment's definition, except options."""
    codes, at = list[str](), tex.skip_options(match.end())
    while len(codes) < 3 and (group := tex.group(at)):
        codes.append(tex.inner(group))
        at = group.after
    return codes


def listed(names: str) -> frozenset[str]:
    return frozenset(name.strip() for name in names.split(","))


@dataclass(slots=True)
class Settings:
    """The document's settings so far. `words` maps one-word macros to their text. `swallowed` lists environments that
    are not printed."""

    values: dict[str, bool] = field(default_factory=lambda: {"draft": False, **_PDFTEX})
    defined: set[str] = field(default_factory=set)
    toggles: dict[str, bool] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=lambda: {"empty": "", "@empty": "", "relax": "\\relax"})
    swallowed: set[str] = field(default_factory=lambda: {"comment"})
    only: frozenset[str] | None = None  # the files that `\include` may read
    loaded: dict[str, frozenset[str]] = field(default_factory=dict)  # options of classes and packages, keyed by file

    def copy(self) -> Self:
        """Returns a copy of the settings that later changes do not affect."""
        return replace(self, **{each.name: copy(getattr(self, each.name)) for each in fields(self)})

    def set(self, text: str, match: re.Match[str]) -> None:
        if name := match["newif"]:
            self.values[name] = False
            self.defined |= {f"if{name}", f"{name}true", f"{name}false"}
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
            if not (match["provide"] and name in self.defined):
                self._define(name, self._path(match["path"]) if match["path"] else match["word"])
        elif name := match["let"]:
            other = (match["let_to"] or "")[1:]
            self._define(name, self.words.get(other))
            if other in UNDEFINED:
                self.defined.discard(name)
        elif name := match["swallow_name"]:
            (self.swallowed.add if match["swallow"] == "ex" else self.swallowed.discard)(name)
        elif name := match["let_comment"]:
            self.swallowed.add(name)
        elif match["counter"]:
            self.words[f"c@{match['counter']}"] = match["count"]
        elif name := match["register"]:
            self.words[name] = match["number"]
        elif match["only"] is not None:
            self.only = listed(match["only"])
        elif match["class"] or match["packages"]:
            options, names = listed(match["options"] or ""), listed(match["packages"] or "")
            ending = ".cls" if match["class"] else ".sty"
            self.loaded |= {name + ending: options | self.loaded.get(name + ending, options) for name in names}
            if match["class"] and "draft" in options:
                self.values["draft"] = True

    def set_environment(self, match: re.Match[str], codes: Sequence[str], *, boxes: bool = True) -> None:
        """Records whether an environment with this code prints its body. Some environments save their body in a box,
        which a class prints elsewhere. If `boxes` is False, such environments are assumed to print their body."""
        if match["kind"].endswith("Environ"):
            hides = bool(codes) and "\\BODY" not in codes[0]
        elif match["kind"].endswith("DocumentEnvironment"):
            last = f"#{codes[0].count('m') + codes[0].count('o') + codes[0].count('O') + 1}" if codes else ""
            hides = len(codes) > 1 and "b" in codes[0] and last not in codes[1]
        else:
            found = _SWALLOWS.match(codes[0]) if codes else None
            hides = found is not None and (boxes or not found["box"])
        (self.swallowed.add if hides else self.swallowed.discard)(match["environment"])

    def tables(self) -> tuple[dict[str, Any], ...]:
        return self.values, self.toggles, self.words

    def state(self, name: str) -> State:
        """Returns all settings that belong to a name."""
        return [table.get(name) for table in self.tables()], name in self.defined, name in self.swallowed

    def put_back(self, name: str, state: State) -> None:
        settings, *there = state
        for table, value in zip(self.tables(), settings, strict=True):
            table.pop(name, None)
            table.update({} if value is None else {name: value})
        for names, is_there in zip((self.defined, self.swallowed), there, strict=True):
            (names.add if is_there else names.discard)(name)

    def _define(self, name: str, word: str | None) -> None:
        self.defined.add(name)
        if word is None:
            self.words.pop(name, None)
        else:
            self.words[name] = word

    def is_defined(self, name: str) -> bool | None:
        """Returns whether a macro is defined, or None if LaTeX or a package may define it."""
        if name in self.defined:
            return True
        return None if is_known(name) else False

    def _bools(self, kind: str) -> dict[str, bool]:
        return self.toggles if kind == "toggle" else self.values

    def expanded(self, name: str) -> str:
        """Replaces the one-word macros in a file name."""
        return re.sub(r"\\([a-zA-Z@]+)[ \t]*+", lambda m: self.words.get(m[1], m[0]), name)

    def _path(self, name: str) -> str | None:
        whole = self.expanded(name)
        return None if "\\" in whole else whole
