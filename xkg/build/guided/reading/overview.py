"""Summarizes a repository using the beginning of its README and the names defined in its files."""

import re
import textwrap
from collections import Counter

from xkg.build.code.codebase import Codebase, Module, SourceSymbol
from xkg.build.guided.vendored import is_inside, vendored_folders

_CHARACTERS = 2_000
_NAMES_A_FILE = 6
_DOCSTRING = 90
# Matches files that rarely contain a method, which are listed last and omitted first.
_ASIDE = re.compile(
    r"(?:^|[/_])(?:tests?|conftest|examples?|docs?|benchmarks?|tools|setup|plot\w{0,20}|logg\w{0,10})(?=[/_.])",
    re.IGNORECASE,
)


def overview(codebase: Codebase) -> str:
    """Returns a Markdown summary of about 2,000 characters at most, with the README's first paragraph and the names
    defined in each file. The most imported files come first. Files that define the same names are listed together."""
    paragraphs = (" ".join(p.split()) for p in re.split(r"\n\s*\n", _prose(codebase.readme)))
    lines = [textwrap.shorten(next(filter(_is_prose, paragraphs), ""), _CHARACTERS // 2, placeholder=" …"), ""]
    alike: dict[tuple[str, ...], list[str]] = {}
    for module in by_importance(codebase):
        if names := tuple(s.symbol.qualified_name for s in tops(module)):
            alike.setdefault(names, []).append(module.path)
    room = _CHARACTERS - len(lines[0])
    for names, (path, *others) in alike.items():
        more = [f"and {len(names) - _NAMES_A_FILE} more"] if len(names) > _NAMES_A_FILE else []
        line = f"- `{path}`: {', '.join([*names[:_NAMES_A_FILE], *more])}"
        line += f" (so do {len(others)} other files)" if others else ""
        room -= len(line)
        if room < 0:
            lines.append("- and more files")
            break
        lines.append(line)
    return "\n".join(lines).strip()


def by_importance(codebase: Codebase) -> list[Module]:
    """Returns the modules, most imported first. Vendored packages, tests and similar files come last."""
    vendored = vendored_folders(codebase)
    imported = Counter(
        target for module in codebase.modules for target in {i.target for i in module.imports if i.target is not None}
    )

    def order(module: Module) -> tuple[bool, int, int, str]:
        aside = _ASIDE.search(module.path) is not None or is_inside(module.path, vendored)
        return aside, -imported[module.path], module.path.count("/"), module.path

    return sorted(codebase.modules, key=order)


def tops(module: Module) -> list[SourceSymbol]:
    """Returns the functions and classes of a module that are not nested."""
    kinds = ("class", "function")
    return [s for s in module.symbols if s.symbol.kind in kinds and "." not in s.symbol.qualified_name]


def described(source: SourceSymbol) -> str:
    """Returns a symbol's signature and the start of its docstring."""
    symbol = source.symbol
    first = re.split(r"(?<=[.!?])\s|\n\s*\n", source.docstring.strip(), maxsplit=1)[0]
    text = textwrap.shorten(first, _DOCSTRING, placeholder=" …")
    signature = " ".join((symbol.signature or symbol.qualified_name).split())[:160]
    return f"{signature}  # {text}" if text else signature


def _is_prose(paragraph: str) -> bool:
    return len(paragraph) > 60 and not paragraph.startswith(("#", "-", "*", "|", "`")) and "===" not in paragraph


def _prose(readme: str) -> str:
    """Returns a README without images, badges and HTML."""
    return re.sub(
        r"<!--[\s\S]*?(?:-->|\Z)|<[^>\n]{1,400}>|\[?!\[[^\]]{0,500}+\]\([^)]{0,1000}+\)(?:\]\([^)]{0,1000}+\))?",
        "",
        readme,
    )
