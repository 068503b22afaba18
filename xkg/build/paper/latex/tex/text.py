"""Converts LaTeX to readable text in one pass without recursion, so nesting of any depth is safe.

Symbols and accents come from `pylatexenc`, whose recursive parser is used only for single accents."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache

from pylatexenc import latex2text

from xkg.build.paper.latex.tex.commands import (
    ENVIRONMENT_ARGUMENTS,
    FIRST_SILENT,
    HEADINGS,
    MATH_ENVIRONMENTS,
    NOT_READ,
    PICTURES,
    REFERENCES,
    SILENT,
    SPACES,
)
from xkg.build.paper.latex.tex.formulas import math
from xkg.build.paper.latex.tex.macros import (
    begin_key,
    end_key,
    expand,
    filled,
    find_macros,
    given_arguments,
    opens_algorithm,
)
from xkg.build.paper.latex.tex.tokens import Environment, Group, Tex, environments, outside

_CITE = re.compile(r"(?=[a-zA-Z]++$)[a-zA-Z]*?[cC]ite")
_CITE_AS_WORDS = re.compile(r"(?:[cC]ite(?:t|alt|talias|author)|[tT]extcite|newcite|shortcite|citeasnoun)$")

_TOKEN = re.compile(
    r"\\(?P<word>[a-zA-Z@]+)\*?"
    r"|\\(?P<symbol>.)"
    r"|(?P<math>\$\$?)"
    r"|(?P<paragraph>\n[ \t]*+\n\s*+)"
    r"|(?P<brace>[{}])|(?P<bracket>\])"
    r"|(?P<tie>[~&])",
    re.DOTALL,
)
_INLINE = re.compile(r"((?:[^$\\\n]|\\.|\n(?![ \t]*+\n)){0,4000}+)\$", re.DOTALL)
_DISPLAY = re.compile(r"((?:[^$\\]|\\.){0,20000}+)\$\$", re.DOTALL)
_LENGTH = (
    r"[ \t]*+=?[ \t]*+[-+]?(?:\d{0,5}\.?\d{1,5}[ \t]*+(?:(?:pt|em|ex|cm|mm|in|bp|pc|sp|mu|fil{1,3})(?![a-zA-Z])"
    r"|\\(?:[a-z]{0,12}(?:width|height|skip|sep|indent)|fill|paper[a-z]{5,6})(?![a-zA-Z]))"
    r"|\\(?:[a-z]{0,12}(?:width|height|skip|sep|indent)|fill)(?![a-zA-Z]))"
)
_DIMENSION = re.compile(_LENGTH + r"(?:[ \t]*+(?:plus|minus)" + _LENGTH + r"){0,2}+")
# Matches values after a register or box, as in `\looseness=-1`, `\advance\leftskip by 2em` or `\hbox to 3cm`.
_INTEGER = r"-?\d{1,6}+(?![.\d]|[ \t]{0,9}(?:pt|em|ex|cm|mm|in|bp|pc|sp|\\))"
_ASSIGNED = re.compile(
    rf"(?:[ \t]{{0,9}}\\[a-zA-Z@]{{1,40}})?[ \t]{{0,9}}"
    rf"(?:=[ \t]{{0,9}}{_INTEGER}|(?:by|to|spread)(?:{_LENGTH}|[ \t]++-?\d{{1,6}}))"
)
_BOXES = frozenset(("advance", "hbox", "vbox", "vtop"))
_PENALTIES = re.compile(r"[a-z]*penalty$|[a-z]*tolerance$|looseness$|[hv]badness$")
_NUMBER = re.compile(r"[ \t]{0,9}=?[ \t]{0,9}-?\d{1,6}")
_LABEL = re.compile(r"\\label\s*+\{([^{}]{1,200})\}")
_TITLE_OPTION = re.compile(r"(?:^|,)\s*+title\s*+=\s*+(?=(\{))?([^,{}]{0,200})")
_DINGS = {"51": "✓", "52": "✓", "55": "✗", "56": "✗"}
# Citations after these words are kept, because the sentence would be incomplete without them.
_NEEDS_CITED = re.compile(
    r"(?i)(?:^|[\s(\[])(?:in|of|by|from|with|to|than|via|using|uses?|used|follow(?:s|ed|ing)?|unlike|like|both"
    r"|extend(?:s|ing)?|generali[sz]es?|per|on|for|at|see|cf\.|as|e\.g\.,?|i\.e\.,?|while|whereas|where|that|because"
    r"|since|when|recently,?|however,?|similarly,?|instead,?|later,?|specifically,?|moreover,?|additionally,?"
    r"|also,?)\Z"
)
_GOES_ON = re.compile(r"(?:['’]s?)?[ \t~]*+\n?[ \t]*+(?:[a-z]{2}|\\(?:emph|textit)\{[a-z])")
_LONGEST_MATH = 20_000
_BREAK = "\x1d"


@cache
def _symbols() -> Mapping[str, str]:
    specs = latex2text.get_default_latex_context_db().iter_macro_specs()
    table = {
        spec.macroname: spec.simplify_repl
        for spec in specs
        if isinstance(spec.simplify_repl, str) and "%" not in spec.simplify_repl
    }
    table.pop("today", None)
    return table | {"ldots": "…", "dots": "…", "textbackslash": "\\", "textasciitilde": "~", "%": "%", " ": " "}


def is_known(name: str) -> bool:
    """Returns whether a command belongs to LaTeX or to a common package."""
    return name in SILENT or name in FIRST_SILENT or name in HEADINGS or name in _symbols()


@cache
def _accent(snippet: str) -> str:
    converter = latex2text.LatexNodes2Text()
    try:
        return unicodedata.normalize("NFC", str(converter.latex_to_text(snippet, tolerant_parsing=True)))
    except IndexError:  # a macro in the snippet lacks arguments that the library expects
        return ""


_ACCENTS = frozenset("'`^\"~=.")
_WORD_ACCENTS = frozenset(["c", "v", "u", "H", "k", "r", "d", "b", "t"])


def latex_text(
    source: str,
    macros: Mapping[str, tuple[int, str]] | None = None,
    defaults: Mapping[str, str] | None = None,
    *,
    keep_algorithms: bool = False,
    cited_as: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> str:
    """Returns readable paragraphs separated by blank lines, with macros expanded and formulas written as `$TeX$`.

    Citations that are part of a sentence are replaced with their text in `cited_as`, keyed by citation key. Other
    citations, footnotes, figures, tables and algorithms are removed, but `keep_algorithms` keeps algorithms and the
    text in figures and tables.

    If `labels` is given, references appear as printed ("Algorithm 2"), and a displayed equation is followed by its
    number. Otherwise, references and equation numbers are omitted."""
    if not _MARKUP.search(source):
        return _tidy(source.replace("\n\n", _BREAK))
    if "\\" in source and (definitions := find_macros(source).definitions):
        source = outside(source, definitions)
    macros, defaults = macros or {}, defaults or {}
    return _tidy(_Reading(expand(source, macros, defaults), macros, defaults, keep_algorithms, cited_as, labels).read())


class _Reading:
    def __init__(
        self,
        text: str,
        macros: Mapping[str, tuple[int, str]],
        defaults: Mapping[str, str],
        keep_algorithms: bool,
        cited_as: Mapping[str, str] | None,
        labels: Mapping[str, str] | None,
    ) -> None:
        self.text = text
        self.macros, self.defaults = macros, defaults
        self.cited_as = cited_as
        self.labels = labels
        self.tex = Tex(text)
        self.out: list[str] = []
        self.no_close: set[str] = set()
        self.closing: dict[int, str] = {}
        self.dropped = PICTURES if keep_algorithms else NOT_READ
        self.begins = {e.start: e for e in environments(text)} if "\\begin" in text else {}

    def read(self) -> str:
        text, out, at = self.text, self.out, 0
        while match := _TOKEN.search(text, at):
            out.append(text[at : match.start()])
            at = match.end()
            if match["word"]:
                at = self._word(match)
            elif match["symbol"]:
                at = self._symbol(match)
            elif match["math"]:
                at = self._dollar(match)
            elif match["paragraph"]:
                out.append(_BREAK)
            elif match["tie"]:
                out.append(" ")
            elif self.closing and match.start() in self.closing:
                self._close(match.start())
            elif match["bracket"]:
                out.append("]")
        out.append(text[at:])
        return "".join(out)

    def _dollar(self, match: re.Match[str]) -> int:
        pattern = _DISPLAY if len(match["math"]) == 2 else _INLINE
        formula = pattern.match(self.text, match.end())
        if formula is None:
            return match.end()
        body = math(formula[1])
        if body in ("\\{", "\\}"):
            self.out.append(body[1])
        else:
            self._formula(formula[1], display=match["math"] == "$$")
        return formula.end()

    def _formula(self, source: str, environment: str = "", *, display: bool = True) -> None:
        """Writes a formula. If references are kept, appends the formula's equation numbers."""
        formula = math(source, environment)
        if not formula:
            return
        self.out.append(f" ${formula}$ " if display else f"${formula}$")
        labels = _LABEL.findall(source) if display and self.labels else ()
        numbers = [self.labels[label.strip()] for label in labels if self.labels and label.strip() in self.labels]
        if numbers:
            self.out.append(f"{', '.join(f'({_number(number)})' for number in dict.fromkeys(numbers))} ")

    def _symbol(self, match: re.Match[str]) -> int:
        symbol, after = match["symbol"], match.end()
        if symbol in "([":
            close = "\\)" if symbol == "(" else "\\]"
            end = -1 if close in self.no_close else self.text.find(close, after)
            if end < 0:
                self.no_close.add(close)
            elif end - after < _LONGEST_MATH:
                self._formula(self.text[after:end], display=symbol == "[")
                return end + 2
            return after
        if symbol == "\\":
            self.out.append(" ")
            after += self.text.startswith("*", after)
            return self.tex.skip_options(after)
        if symbol in _ACCENTS:
            return self._accented(match.group(), after)
        if symbol in "%&_#${}":
            self.out.append(symbol)
        elif symbol in " ,;:!/\n":
            self.out.append("" if symbol in "!/" else " ")
        return after

    def _accented(self, accent: str, after: int) -> int:
        argument = self.tex.argument(after)
        if argument is None or argument.end - argument.start > 6:
            return after
        self.out.append(_accent(f"{accent}{{{self.tex.inner(argument)}}}"))
        return argument.after

    def _word(self, match: re.Match[str]) -> int:
        word, after = match["word"], match.end()
        if word == "begin":
            return self._begin(match.start(), after)
        if word == "end":
            group = self.tex.group(after)
            self.out.append(f"{self._printed_around(end_key(self.tex.inner(group)), [])}\n" if group else "\n")
            return group.after if group else after
        if word in ("verb", "lstinline", "mintinline") and after < len(self.text):
            return self._verbatim(word, after)
        if (given := self._register(word, after)) is not None:
            return given
        if word == "item":
            self.out.append(_BREAK)
            option = self.tex.option(after)
            if option:
                self.closing[option.end] = " "
            return option.start if option else after
        if word == "ensuremath" and (group := self.tex.group(after)):
            self.out.append(f"${math(self.tex.inner(group))}$")
            return group.after
        if word in ("url", "path", "nolinkurl") and (group := self.tex.group(after)):
            self.out.append(self.tex.inner(group))
            return group.after
        if word == "texorpdfstring" and (group := self.tex.group(after)):
            second = self.tex.group(group.after)
            return second.start if second else group.after
        if word in HEADINGS or word in ("paragraph", "subparagraph"):
            return self._heading(word, after)
        if word in FIRST_SILENT:
            at = self.tex.skip_options(after)
            for _ in range(FIRST_SILENT[word]):
                argument = self.tex.argument(at)
                at = self.tex.skip_options(argument.after) if argument else at
            return at
        if word in REFERENCES and self.labels is not None:
            return self._reference(word, after)
        if word == "ding" and (group := self.tex.group(after)):
            self.out.append(_DINGS.get(self.tex.inner(group), ""))
            return group.after
        if _CITE.match(word):
            return self._citation(word, after)
        if word in SPACES and not self.text.startswith("{-", after):
            self.out.append(" ")
        if word in SILENT:
            if word == "par":
                self.out.append(_BREAK)
            if word == "xspace":
                return after
            return self._skip(after, SILENT[word]) if SILENT[word] else self._control_space(after)
        if word in _WORD_ACCENTS and self.text[after : after + 1] in ("{", " "):
            return self._accented(match.group(), after)
        symbol = _symbols().get(word)
        if symbol is not None:
            self.out.append(symbol)
            return self._control_space(after)
        at = self.tex.skip_options(after) if self.text.startswith("[", after) else after
        while self.text.startswith("{", at) and (group := self.tex.group(at)) and self._is_length(group):
            at = group.after
        if at > after:
            return at
        dimension = _DIMENSION.match(self.text, after)
        return dimension.end() if dimension else self._control_space(after)

    def _register(self, word: str, after: int) -> int | None:
        """Returns the offset after the value assigned to a register, or None if there is none."""
        pattern = _NUMBER if _PENALTIES.match(word) else _ASSIGNED
        value = pattern.match(self.text, after)
        return value.end() if value and (word in _BOXES or "=" in value[0] or pattern is _NUMBER) else None

    def _is_length(self, group: Group) -> bool:
        length = _DIMENSION.match(self.text, group.start, group.end)
        return length is not None and not self.text[length.end() : group.end].strip()

    def _verbatim(self, word: str, after: int) -> int:
        """Copies inline code, delimited by braces or another character."""
        at = self.tex.skip_options(after) if word != "verb" else after
        if word == "mintinline" and (language := self.tex.group(at)):
            at = language.after
        if word != "verb" and self.text.startswith("{", at) and (group := self.tex.group(at)):
            self.out.append(self.tex.inner(group))
            return group.after
        close = self.text.find(self.text[at], at + 1, at + 300) if at < len(self.text) else -1
        if close > 0:
            self.out.append(self.text[at + 1 : close])
            return close + 1
        return after

    def _citation(self, word: str, after: int) -> int:
        end = self._skip(after, 1)
        group = self.tex.group(self._skip_options(after))
        if group is None or self.cited_as is None:
            return end
        if not _CITE_AS_WORDS.match(word) and not self._is_needed(end):
            return end
        keys = [key.strip() for key in self.tex.inner(group).split(",")[:20] if key.strip()]
        names = [self.cited_as.get(key) or f"[{key}]" for key in keys]
        if word.endswith("author"):
            names = [name.partition(" (")[0] for name in names]
        self.out.append(", ".join(names[:-1]) + " and " * (len(names) > 1) + "".join(names[-1:]))
        return end

    def _is_needed(self, end: int) -> bool:
        """Returns whether the grammar of a sentence requires its citation, as the subject or after a preposition."""
        before = "".join(self.out[-6:])[-60:].rstrip(" \t\n" + _BREAK)
        following = self.text[end : end + 40]
        if following.lstrip(" ~")[:1] in (")", "]", ";") and re.search(r"[(\[;][^()\[\];]{0,20}\Z", before):
            return False
        if not before or before.endswith((".", "!", "?", ":")):
            return _GOES_ON.match(following) is not None
        return _NEEDS_CITED.search(before) is not None

    def _reference(self, word: str, after: int) -> int:
        """Writes a reference as printed, or the label itself if its printed name is unknown."""
        at = self.tex.skip_options(after)
        group = self.tex.group(at)
        if group is None or self.labels is None:
            return at
        if word == "hyperlink":
            return group.after
        known = self.labels
        keys = [key.strip() for key in self.tex.inner(group).split(",")[:20] if key.strip()]
        end = group.after
        if word in ("crefrange", "Crefrange") and (last := self.tex.group(end)):
            keys.append(self.tex.inner(last).strip())
            end = last.after
        printed = [known.get(key, f"[{key}]") for key in keys]
        if word in ("ref", "eqref", "subref", "labelcref"):
            printed = [_number(name) for name in printed]
        if word == "eqref":
            printed = [f"({name})" for name in printed]
        if word not in ("pageref", "cpageref"):
            self.out.append(_listed(printed, " to " if word in ("crefrange", "Crefrange") else " and "))
        return end

    def _control_space(self, after: int) -> int:
        while after < len(self.text) and self.text[after] in " \t":
            after += 1
        return after

    def _skip(self, at: int, groups: int) -> int:
        at = self._skip_options(at)
        for _ in range(groups):
            group = self.tex.group(at)
            if group is None and groups > 1 and self.text.startswith("\\", self.tex.space(at)):
                group = self.tex.argument(at)
            if group is None:
                dimension = _DIMENSION.match(self.text, at)
                return dimension.end() if dimension else at
            at = self._skip_options(group.after) if _ + 1 < groups else group.after
        return at

    def _skip_options(self, at: int) -> int:
        return self.tex.skip_options(at) if self.text.startswith("[", self.tex.space(at)) else at

    def _heading(self, word: str, after: int) -> int:
        group = self.tex.group(self._skip_options(after))
        if group is None:
            return after
        self.out.append(_BREAK)
        if group.after > group.end:
            self.closing[group.end] = _BREAK if word in HEADINGS else ". "
        return group.start

    def _close(self, position: int) -> None:
        """Ends a heading at its closing brace. Run-in headings end with a full stop, and all others with a new
        paragraph."""
        mark = self.closing.pop(position, "")
        ended = mark == ". " and bool(self.out) and self.out[-1].rstrip().endswith((".", "?", "!", ":"))
        self.out.append(" " if ended else mark)

    def _begin(self, start: int, after: int) -> int:
        environment = self.begins.get(start)
        if environment is None:
            group = self.tex.group(after)
            return group.after if group else after
        name = environment.name
        if environment.closed and name in MATH_ENVIRONMENTS:
            self._math(environment)
            return environment.end
        if environment.closed and (
            name in self.dropped or (self.dropped is NOT_READ and opens_algorithm(self.macros, name))
        ):
            return environment.end
        self.out.append("\n")
        option = self.tex.option(environment.body_start)
        if option is not None and (title := _TITLE_OPTION.search(self.text, option.start, option.end)):
            group = self.tex.group(title.start(1)) if title[1] else None
            self.out.append(f"{self.tex.inner(group) if group else title[2]}. ")
        count, _ = self.macros.get(begin_key(name), (0, ""))
        given, own = given_arguments(self.tex, environment.body_start, count, self.defaults.get(begin_key(name)))
        if given is not None and (printed := self._printed_around(begin_key(name), given)):
            self.out.append(f"{printed} ")
            return own
        at = self._skip_options(environment.body_start)
        for _ in range(ENVIRONMENT_ARGUMENTS.get(name, 0)):
            at = self._skip_options(self._skip(at, 1))
        while name not in ENVIRONMENT_ARGUMENTS and (group := self.tex.group(at)) and self._is_length(group):
            at = group.after
        return at

    def _printed_around(self, key: str, arguments: list[str]) -> str:
        """Returns the text that a paper-defined environment prints before or after its body."""
        if key not in self.macros:
            return ""
        others = {name: value for name, value in self.macros.items() if name != key}
        printed = latex_text(filled(self.macros[key][1], arguments), others, self.defaults, labels=self.labels)
        return printed if re.search(r"[^\W\d_]{3}", printed) else ""

    def _math(self, environment: Environment) -> None:
        body = self.text[environment.body_start : environment.body_end]
        if len(body) < _LONGEST_MATH:
            self._formula(body, environment.name)


def _number(printed: str) -> str:
    return printed.rpartition(" ")[2]


def _listed(names: Sequence[str], last: str) -> str:
    """Joins names, writing a repeated kind only once, as in "Figure 1 and 2"."""
    kinds = [name.rpartition(" ")[0] for name in names]
    short = [name if i == 0 or kinds[i] != kinds[i - 1] else _number(name) for i, name in enumerate(names)]
    return ", ".join(short[:-1]) + last * (len(short) > 1) + "".join(short[-1:])


_MARKUP = re.compile(r"[\\{}$~&]|\n[ \t]+\n")
_QUOTES = re.compile(r"``|''")
_EMPTY = re.compile(r"[(\[](?:[\s,;.]|\be\.?g|\bsee\b|\bcf|\bi\.e\.|and)*+[)\]]")
_BEFORE_STOP = re.compile(r"(?<![ \t])[ \t]++(?=[,.;:!?)\]](?!\d))")
_REPEATED = re.compile(r"([,;])(?:\s*+[,;])++(\s?)")
_BEFORE_SPACE = re.compile(r"[,;](?=\s)")


def _merged_marks(match: re.Match[str]) -> str:
    """Replaces a run of punctuation marks before a space with its first mark."""
    if match[2]:
        return match[1] + match[2]
    run = match[0]
    last = max((mark.start() for mark in _BEFORE_SPACE.finditer(run)), default=0)
    return match[1] + run[last + 1 :]


def _tidy(text: str) -> str:
    """Normalizes whitespace and removes the remains of omitted citations."""
    paragraphs = []
    for raw in text.split(_BREAK):
        parts = re.split(r"(\$[^$]*\$)", raw.strip())
        for index in range(0, len(parts), 2):
            part = re.sub(r"\s+", " ", parts[index])
            part = _EMPTY.sub("", _QUOTES.sub('"', part))
            part = _REPEATED.sub(_merged_marks, part)
            parts[index] = re.sub(r"---", "—", part)
            parts[index] = re.sub(r"(?<!-)--(?!-)", "–", parts[index])
        line = _BEFORE_STOP.sub("", re.sub(r"\s+", " ", "".join(parts))).strip()
        if line:
            paragraphs.append(line)
    return "\n\n".join(paragraphs)
