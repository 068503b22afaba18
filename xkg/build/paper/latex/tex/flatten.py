"""Combines a LaTeX paper's files into one text, with inputs inlined and comments stripped. Every character can be
traced to its source file."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

from xkg.build.paper.document import SourceSpan
from xkg.build.paper.files import PaperFiles
from xkg.build.paper.latex.tex.conditions import CONDITIONAL, Borders, Conditions, Parts
from xkg.build.paper.latex.tex.copying import Copier, Copy
from xkg.build.paper.latex.tex.macros import arguments_end, filled
from xkg.build.paper.latex.tex.own_macros import (
    ALWAYS,
    BY_FILE,
    READS,
    Macro,
    arguments,
    definition,
    is_prose,
    macro,
)
from xkg.build.paper.latex.tex.settings import SETTING, SETTINGS, State, environment_codes, set_name
from xkg.build.paper.latex.tex.tokens import VERBATIM, Groups

_DEEPEST = 40
_MOST_INPUTS = 2000
_PICTURES = (".pgf", ".tikz", ".pdf_tex", ".eps_tex", ".pdf_t", ".pstex_t")

_TOKEN = re.compile(
    r"(?P<verb>\\(?:verb|lstinline)\*?(?P<delimiter>[^a-zA-Z\s*{\[])[^\n]{0,300}?(?P=delimiter))"
    r"|(?P<url>\\(?:url|path|href)[ \t]*+\{[^{}\n]{0,2000}\})"
    r"|\\begin[ \t]*+\{(?P<begin>[a-zA-Z@]{1,40}\*?)\}"
    r"|(?P<setting>" + SETTING + r")"
    r"|\\(?P<pair>import|subimport|inputfrom|subinputfrom|includefrom|subincludefrom)\*?[ \t]*+"
    r"\{(?P<folder>[^{}\n]{0,300})\}[ \t]*+\{(?P<file>[^{}\n]{1,300})\}"
    r"|\\(?P<command>input|include|subfile|subfileinclude|@input|includestandalone)(?![a-zA-Z@])"
    r"(?:[ \t]*+\[[^][\n]{0,200}\])?[ \t]*+"
    r"(?:\{[ \t]*+(?P<braced>[^{}\n]{1,300})\}|(?P<bare>[^\s{}\\%#]{1,300}))"
    r"|(?P<stop>\\endinput(?![a-zA-Z])|(?P<last>\\end[ \t]*+\{document\}))"
    r"|(?P<conditional>" + CONDITIONAL + r")"
    r"|(?P<escaped>\\(?:[a-zA-Z@]++|.))"
    r"|(?P<comment>%)",
    re.DOTALL,
)
# Matches syntax used only in slides: notes and overlay specifications (`\item<2->`, `\only<1>{…}`).
_SLIDE_TOKEN = re.compile(
    r"\\(?:begin\{[a-zA-Z]{1,30}\*?\}|[a-zA-Z]{1,30}+\*?)(?:\[[^][\n]{0,100}\])?"
    r"(?P<overlay><(?=[-+.\d]|[a-z]{3,15}[:@|> ])[-+.,:|@*()\w ]{1,60}>)|\\(?P<note>note)(?![a-zA-Z@])|"
    + _TOKEN.pattern,
    re.DOTALL,
)
_OTHER_MODES = re.compile(r"<(?:article|handout|trans|second|[| ])++>")  # modes that print no slides
_SLIDES = re.compile(r"^[^%\n]{0,200}\\documentclass\s*+(?:\[[^\]]{0,500}\]\s*+)?\{beamer\}", re.MULTILINE)
_BODY = re.compile(r"\\begin[ \t]*+\{document\}")
_CLASS = re.compile(r"\\documentclass")
_BY_NAME = re.compile(
    r"(?:\\expandafter[ \t]*+(\\(?:[gex]?def|let)))?\\csname[ \t]*+"
    r"((?(1)|(?:if|(?=[a-zA-Z@]{1,40}(?:true|false))))[a-zA-Z@]{1,40})[ \t]*+\\endcsname"
)
_TEST = re.compile(r"\{[\w -]{1,40}\}(?=\s*+\{)")
_BARE_TEST = re.compile(r"(?:\s*+\\[a-zA-Z@_]{1,40}){1,2}+(?=\s*+\{)")  # such as in `\ifdefempty\title{…}{…}`
_MAY_HIDE = re.compile(r"\\(?:[a-zA-Z@]{0,30}[iI]f|csname)")
_CONTROL = re.compile(r"\\([a-zA-Z@]+)")
_COMMANDS = re.compile(
    r"\\(?!(?:sub){0,2}section|chapter|paragraph|input|include|begin)[a-zA-Z@]++\*?(?:\[[^][]*+\]|\{[^{}]*+\})*+"
)  # these commands are unlikely to print text
_LONGEST_BRANCH = 20_000  # characters to examine


@dataclass(slots=True)
class Flat:
    """A paper combined into one text. `spans` records the source of each verbatim fragment of `text`, in ascending
    order."""

    text: str
    spans: tuple[SourceSpan, ...]
    warnings: tuple[str, ...]


@dataclass(slots=True)
class _Output(Copy):
    inputs: int = 0
    styles: set[str] = field(default_factory=set)  # packages whose style file was already looked up
    conditions: Conditions = field(default_factory=Conditions)
    in_body: bool = False
    slides: bool = False
    alone: bool = False  # True to read only a definition's body, without inputs and nested definitions
    deferred: bool = False  # True if a definition before the body contains a condition
    ended: bool = False
    dropping: dict[str, Macro] = field(default_factory=lambda: dict(ALWAYS))
    written: dict[str, str] = field(default_factory=dict)
    at_body: Conditions | None = None  # the settings at the start of the body


def flatten(files: PaperFiles, main: str) -> Flat:
    """Combines a paper's files into one text, starting at the main file. Skips missing files, cycles and paths outside
    the folder, with a warning.

    Raises `InputError` if there is no main file. Raises `UnsafeInputError` if the inputs are too large for a paper."""
    output = _flatten(files, main, None)
    # settings after a definition may affect its output
    if output.deferred and output.at_body is not None:
        output = _flatten(files, main, output.at_body)
    text = "".join(output.pieces)
    spans = tuple(SourceSpan(start=s, end=e, path=p, line=n) for s, e, p, n in output.spans)
    return Flat(text, spans, tuple(output.warnings))


def _flatten(files: PaperFiles, main: str, at_body: Conditions | None) -> _Output:
    text = files.main(main)
    output = _Output(slides=is_slides(text), at_body=at_body)
    output.conditions.words["jobname"] = posixpath.splitext(posixpath.basename(main))[0]
    _File(files, main, text, output, (main,)).copy()
    return output


def is_slides(text: str) -> bool:
    """Returns whether the text uses the beamer document class."""
    return _SLIDES.search(text) is not None


class _File(Copier):
    def __init__(
        self, files: PaperFiles, path: str, text: str, output: _Output, stack: tuple[str, ...], start: int = 0
    ) -> None:
        super().__init__(path, _BY_NAME.sub(r"\1\\\2 ", text), output, start)
        self.files, self.output, self.stack = files, output, stack
        self.definition = 0  # the end of the most recent definition
        self.doubtful = 0  # the end of the most recent conditional whose value is unknown
        self.reading = 0  # the end of the most recent definition that reads files
        self.pending: list[tuple[int, int]] = []
        self.local: list[tuple[int, str, State]] = []  # end of a group, and the setting to restore there
        self._groups: Groups | None = None
        self._parts: Parts | None = None

    def copy(self, end: int | None = None) -> None:
        end = len(self.text) if end is None else end
        at = self.at
        token = _SLIDE_TOKEN if self.output.slides else _TOKEN
        while at <= end:
            limit = min(end, max(at, self.pending[0][0])) if self.pending else end
            match = token.search(self.text, at, limit)
            if match is None:
                if limit == end and not (self.pending and self.pending[0][0] == end):
                    break
                at = max(self.at, heappop(self.pending)[1])
                self.drop(limit, at)
                continue
            at = match.end()
            self._leave_groups(match.start())
            if self.output.slides and (match["overlay"] or match["note"]):
                at = self._beside(match)
            elif match["comment"]:
                at = self.comment(match.start())
            elif match["begin"]:
                at = self._environment(match["begin"], match.start(), at)
            elif match["setting"]:
                self._remember(match)
                if match["only"] is None or match.start() >= self.doubtful:
                    self.output.conditions.set(self.text, match)
                if (name := match["macro"] or match["def"]) and match["word"] is None:
                    self._define(name, at, specified=match["specified"] is not None)
                elif match["environment"]:
                    self._define_environment(match)
                elif match["packages"] and not self.output.alone:
                    self._styles(match)
                elif match["let"] and (other := self.output.dropping.get((match["let_to"] or "")[1:])):
                    self.output.dropping[match["let"]] = other
            elif match["conditional"]:
                at = self._conditional(match)
            elif match["pair"] or match["command"]:
                name = match["braced"] or match["bare"] or ""
                if match["pair"]:
                    name = posixpath.join(match["folder"].strip(), match["file"].strip())
                only = self.output.conditions.only if match["command"] == "include" else None
                if only is not None and name.strip() not in only:
                    at = self.drop(match.start(), at)
                else:
                    at = self._input(match.start(), at, name.strip())
            elif match["escaped"] and (dropping := self.output.dropping.get(match["escaped"][1:])):
                at = self._drop_arguments(match.start(), at, dropping)
            elif match["stop"] and not (match["last"] and not self.output.in_body):
                self.output.ended = match["last"] is not None
                self.drop(at if match["last"] else match.start(), at)
                return
            if self.output.ended:
                return
        self.drop(end, end)
        self._leave_groups(end)

    def _styles(self, loaded: re.Match[str]) -> None:
        """Applies the settings from the paper's own class and package files, and from any files that they load."""
        for name in loaded["packages"].split(","):
            self.output.dropping |= BY_FILE.get(name.strip().rstrip("0123456789"), {})
        pending, texts = [loaded], dict[str, str]()
        while pending:
            match = pending.pop()
            for name in match["packages"].split(","):
                path = name.strip() + (".cls" if match["class"] else ".sty")
                if path in self.output.styles or not (text := self.files.text(path)):
                    continue
                self.output.styles.add(path)
                texts[path] = re.sub(r"(?<!\\)%[^\n]*", "", text)
                pending += [each for each in SETTINGS.finditer(texts[path]) if each["packages"]]
        for path, text in reversed(texts.items()):
            self.output.conditions.set_by_style(path, text)

    def _remember(self, match: re.Match[str]) -> None:
        """Saves the old value of a setting that is changed inside a group."""
        name = set_name(match)
        if name is None or not self.output.in_body:
            return
        before = self.text[max(0, match.start() - 10) : match.start()].rstrip()
        if before.endswith("\\global") or match[0].startswith(("\\gdef", "\\xdef")):
            self.local = [each for each in self.local if each[1] != name]
            return
        self._groups = self._groups or Groups(self.braces())
        end = self._groups.end_around(match.start())
        if end is not None:
            self.local.append((end, name, self.output.conditions.state(name)))

    def _leave_groups(self, at: int) -> None:
        while self.local and self.local[-1][0] <= at:
            self.output.conditions.put_back(*self.local.pop()[1:])

    def _environment(self, name: str, start: int, at: int) -> int:
        """Skips verbatim environments and drops those that print nothing."""
        if name == "document" and not self.output.in_body:
            self.output.in_body = True
            self.output.at_body = self.output.at_body or self.output.conditions.copy()
        swallowed = name in self.output.conditions.swallowed
        if name.startswith("filecontents") and (file := self.braces().group(self.braces().skip_options(at))):
            close = self.find(f"\\end{{{name}}}", file.after)
            if close >= 0:
                self.output.written[posixpath.normpath(self.braces().inner(file))] = self.text[file.after : close]
                return close
        if not swallowed and name not in VERBATIM:
            return at
        close = self.find(f"\\end{{{name}}}", at)
        if close < 0:
            return at
        return self.drop(start, close + len(f"\\end{{{name}}}")) if swallowed else close

    def _beside(self, match: re.Match[str]) -> int:
        """Drops a slide's note or an overlay specification, which lists the steps at which something appears."""
        if match["overlay"] and not (match[0].startswith("\\mode") and _OTHER_MODES.match(match["overlay"])):
            return self.drop(match.start("overlay"), match.end())
        tex = self.braces()
        group = tex.group(tex.skip_options(match.end()))
        return self.drop(match.start(), group.after) if group else match.end()

    def _conditional(self, match: re.Match[str]) -> int:
        conditions = self.output.conditions
        if match.start() < self.definition:
            self.output.deferred = True
            conditions = self.output.at_body or conditions
        spans = conditions.unprinted(self.text, match, self.braces, self._parts_of, self._is_there)
        if spans is None:
            if self.output.in_body and not self.output.alone and self._decides_text(match):
                name = match["if"] or match["braced_if"]
                test = _TEST.match(self.text, match.end())
                whole = name + (test[0] if test else "")
                self.output.warn(f"{self.path}: the value of \\{whole} is unknown; both branches are read")
            if parts := self._borders(match):
                self.doubtful = max(self.doubtful, parts[2][1])
            return match.end()
        (start, after), *later = spans
        for span in later:
            heappush(self.pending, span)
        if match["braced_if"] == "InputIfFileExists" and (file := self.braces().group(match.end())):
            name = self.text[file.start : file.end].strip()
            return self._input(start, after, name) if self._is_there(name) else self.drop(start, after)
        return self.drop(start, after)

    def _decides_text(self, match: re.Match[str]) -> bool:
        """Returns whether a conditional's branches contain text, a heading or an input."""
        parts, end = self._borders(match), match.end()
        if parts is None:
            bare = _BARE_TEST.match(self.text, end)
            end = arguments_end(self.braces(), bare.end() if bare else end)
        text = self.text[match.end() : min(parts[2][0] if parts else end, match.end() + _LONGEST_BRANCH)]
        return is_prose(text) or re.search(r"\w", _COMMANDS.sub("", text)) is not None

    def _define(self, name: str, at: int, *, specified: bool) -> None:
        """Records the macro whose parameters start at `at`: the end of its definition, the files that it reads, and its
        unprinted arguments."""
        found = definition(self.braces(), at, specified=specified)
        self.output.dropping.pop(name, None)
        if found is None:
            return
        code = self.braces().inner(found.code)
        if not self.output.in_body:
            self.definition = found.code.after
        if READS.search(code):
            self.reading = found.code.after
        if self.output.alone or len(self.output.dropping) >= _MOST_INPUTS:
            return
        if known := macro(found.kinds, code, self._printed(code) if found.kinds else code):
            self.output.dropping[name] = known

    def _printed(self, code: str) -> str:
        """Returns the part of a definition's code that is printed with the settings at the start of the body."""
        if not _MAY_HIDE.search(code) and self.output.dropping.keys().isdisjoint(_CONTROL.findall(code)):
            return code
        values = self.output.conditions if self.output.in_body else self.output.at_body or self.output.conditions
        scratch = _Output(conditions=values.copy(), in_body=True, alone=True, dropping=self.output.dropping)
        _File(self.files, self.path, code, scratch, self.stack).copy()
        return "".join(scratch.pieces)

    def _define_environment(self, match: re.Match[str]) -> None:
        codes = environment_codes(self.braces(), match)
        if not self.output.in_body:
            self.definition = match.end() + sum(map(len, codes))
        if not self.output.alone:
            self.output.conditions.set_environment(match, [self._printed(code) for code in codes])

    def _drop_arguments(self, start: int, at: int, known: Macro) -> int:
        """Drops a macro's unprinted arguments, and the command itself if it prints nothing but its other arguments."""
        tex = self.braces()
        found = arguments(tex, at, known.kinds)
        if found is None:
            return at
        groups, end = found
        pairs = list(zip(groups, known.dropped, strict=True))
        kept = [group for group, dropped in pairs if group and not dropped]
        if known.unsure and self.output.in_body and any(is_prose(tex.inner(group)) for group in kept):
            name = self.text[start:at].strip()
            self.output.warn(f"{self.path}: it is unknown whether {name} prints its text; the text is read")
        if known.bare:
            inner, close = (kept[-1].start, kept[-1].end) if kept else (end, end)
            heappush(self.pending, (close, end))
            return self.drop(start, inner)
        for group, dropped in pairs:
            if group and dropped:
                heappush(self.pending, (group.start, group.end))
        values = [tex.inner(group) if group else "" for group in groups]
        for name in known.files:
            self._input(end, end, filled(name, values))
        return end if known.files else at

    def _is_there(self, name: str) -> bool:
        return any(path in self.output.written or self.files.exists(path) for path in self._paths(name))

    def _parts_of(self) -> Parts:
        if self._parts is None:
            self._parts = self.output.conditions.parts(self.text)
        return self._parts

    def _borders(self, match: re.Match[str]) -> Borders | None:
        r"""Returns a conditional's borders, or None if it does not end in `\fi`."""
        return self._parts_of().get(match.start("if") - 1) if match["if"] else None

    def _input(self, start: int, at: int, name: str) -> int:
        output = self.output
        name = output.conditions.expanded(name.strip('"'))
        if "#" in name or not name or output.alone or start < self.reading:
            return at
        if "\\" in name:
            output.warn(f"{self.path}: the input {name} was left out because its name depends on macros")
            return self.drop(start, at)
        if name.lower().endswith(_PICTURES):
            return self.drop(start, at)
        output.inputs += 1
        if len(self.stack) > _DEEPEST or output.inputs > _MOST_INPUTS:
            output.warn(f"{self.path}: the input {name} was left out because there are too many inputs")
            return self.drop(start, at)
        path, text = self._resolve(name)
        if path is None or text is None:
            output.warn(f"{self.path}: the input {name} was not found")
            return self.drop(start, at)
        if path in self.stack:
            output.warn(f"{self.path}: the input {name} is part of a cycle and was left out")
            return self.drop(start, at)
        self.drop(start, at)
        child = _File(self.files, path, text, output, (*self.stack, path))
        body = _BODY.search(child.text)
        if body and _CLASS.search(child.text, 0, body.start()):
            close = child.text.find("\\end{document}", body.end())
            child.at = body.end()
            child.copy(len(child.text) if close < 0 else close)
        else:
            child.copy()
        return at

    def _resolve(self, name: str) -> tuple[str | None, str | None]:
        """Returns the file that a path refers to, and its text."""
        for path in self._paths(name):
            text = self.output.written.get(path) or self.files.text(path)
            if text is not None:
                return path, text
        return None, None

    def _paths(self, name: str) -> Iterator[str]:
        """Yields the paths of the files that a name may refer to, best first. TeX resolves names relative to the main
        file's folder. Packages for split projects resolve names relative to the current file's folder."""
        name = self.output.conditions.expanded(name)
        here = posixpath.dirname(self.path)
        folders = re.findall(r"[^{}]+", self.output.conditions.words.get("input@path", ""))[:20]
        for base in dict.fromkeys(("", here, *folders)):
            for suffix in ("", ".tex") if posixpath.splitext(name)[1] else (".tex", ""):
                yield posixpath.normpath(posixpath.join(base, name + suffix))
