r"""Determines which arguments a macro prints. For example, `\deleted` prints no argument."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from xkg.build.paper.latex.tex.tokens import Group, Tex

_PARAMETERS = re.compile(
    r"[ \t]*+(?:\[(?P<count>\d)\][ \t]*+(?P<default>\[[^][\n]{0,100}\])?|(?P<hashes>(?:#\d)*+))"
    r"[ \t]*+(?:%?\n[ \t]*+)?(?=\{)"
)
_NO_KIND = re.compile(r"(?<=O)\s*+\{[^{}]*+\}|[+!\s]")  # defaults and modifiers in a specification
_LEFT = re.compile(r"\\(?:if(?!f(?![a-zA-Z])|mmode)|If(?:Boolean|Value|NoValue)|bool_if|csname[ \t]*+if)")
READS = re.compile(r"\\(?:input|include|subfile)[ \t]*+\{([^{}\n]{1,300})\}")
_PROSE = re.compile(r"(?:\\[a-zA-Z@]+|\$[^$]*+\$|[^\w$\\]|\d)++")
FEWEST_WORDS = 5
"""Minimum number of words in a text that may contain a definition."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro and its arguments. `kinds` contains a letter for each argument: `s` for a star, `o` for brackets, `m` for
    braces. `dropped` is True for each unprinted argument. `bare` is True if the macro prints nothing but its other
    arguments.

    `unsure` is True if the conditions in the code have unknown values, for example because they test an argument.
    `files` lists the files that the macro reads."""

    kinds: str
    dropped: tuple[bool, ...]
    bare: bool = False
    unsure: bool = False
    files: tuple[str, ...] = ()


class Definition(NamedTuple):
    """The definition of a macro: its argument kinds (as in `Macro`) and its code."""

    kinds: str
    code: Group


def _known(**macros: str) -> dict[str, Macro]:
    """Builds macros, keyed by name. Each argument has a letter, in upper case if it is printed."""
    return {
        name.replace("at_", "@"): Macro(kinds.lower(), tuple(map(str.islower, kinds)), bare=True)
        for name, kinds in macros.items()
    }


ALWAYS = _known(
    at_gobble="m", at_firstoftwo="Mm", at_secondoftwo="mM", deleted="om", chdeleted="om", replaced="oMm",
    chreplaced="oMm", DIFdel="m", DIFdelFL="m",
)  # fmt: skip
BY_FILE = {
    "changes": _known(comment="om", chcomment="om"),
    "trackchanges": _known(add="oM", remove="om", change="omM", note="om", annote="oMm", refneeded="oM"),
    "easyReview": _known(remove="m", replace="mM", comment="Mm"),
    "aastex": _known(replaced="omM", explain="om"),
}
"""Macros, keyed by the package or class that defines them (without trailing digits)."""


def definition(tex: Tex, at: int, *, specified: bool) -> Definition | None:
    """Parses the definition whose parameters start at `at`. The parameters may be `[2][default]`, `#1#2`, or, if
    `specified` is True, `{o m}`. Returns None if the format is unknown."""
    if specified:
        stated = tex.group(at)
        code = tex.group(stated.after) if stated else None
        kinds = _NO_KIND.sub("", tex.inner(stated)).replace("O", "o") if stated else ""
        return Definition(kinds, code) if code and set(kinds) <= set("som") else None
    match = _PARAMETERS.match(tex.text, at)
    code = tex.group(match.end()) if match else None
    if match is None or code is None:
        return None
    count = int(match["count"] or 0) or (match["hashes"] or "").count("#")
    optional = bool(count and match["default"])
    return Definition("o" * optional + "m" * (count - optional), code)


def arguments(tex: Tex, at: int, kinds: str) -> tuple[list[Group | None], int] | None:
    """Returns the arguments at `at`, and the offset after them. A star becomes a one-character group, and a missing
    optional argument becomes None. Returns None if a mandatory argument is missing."""
    found: list[Group | None] = []
    for kind in kinds:
        if kind == "s":
            group = Group(at, at + 1, at + 1) if tex.text.startswith("*", at) else None
        else:
            group = tex.option(at) if kind == "o" else tex.group(at)
        if group is None and kind == "m":
            return None
        found.append(group)
        at = group.after if group else at
    return found, at


def macro(kinds: str, code: str, printed: str) -> Macro | None:
    """Builds a macro from its code. `printed` is the part of the code that remains after its conditions are evaluated.
    Returns None if the macro prints all its arguments and reads no files."""
    dropped = tuple(f"#{n}" not in printed for n in range(1, len(kinds) + 1))
    unsure = _LEFT.search(printed) is not None and "#" in printed
    files = tuple(READS.findall(code)) if "o" not in kinds else ()  # macros with options usually input figures
    if not any(dropped) and not unsure and not files:
        return None
    kept = [kind for kind, gone in zip(kinds, dropped, strict=True) if not gone]
    bare = kept in ([], ["m"]) and kinds != "" and re.fullmatch(r"(?:\s|#\d)*", printed) is not None
    return Macro(kinds, dropped, bare, unsure, files)


def is_prose(text: str) -> bool:
    """Returns whether a text has enough words to be a definition."""
    return len(_PROSE.sub(" ", text).split()) >= FEWEST_WORDS
