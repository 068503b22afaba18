"""An overview of a repository in a few hundred words, written once: its purpose and its parts."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import PurePosixPath

from xkg.build.code.codebase import Codebase, Module, SourceSymbol
from xkg.build.guided.draft import prompt
from xkg.build.guided.vendored import is_inside, vendored_folders
from xkg.llm.client import AnswerType, Ask

_README = 4_000
_TREE_LINES = 50
_NAMES_A_LINE = 14
_SYMBOLS = 9_000
_SYMBOLS_A_FILE = 14
_DOCSTRING = 90
_MAX_PARTS = 12
# Files that seldom contain a method. They are listed last and cut first.
_ASIDE = re.compile(
    r"(?:^|[/_])(?:tests?|conftest|examples?|docs?|benchmarks?|tools|setup|plot\w{0,20}|logg\w{0,10})(?=[/_.])",
    re.IGNORECASE,
)


class Part(AnswerType):
    path: str
    does: str


class RepositoryOverview(AnswerType):
    purpose: str
    parts: tuple[Part, ...]
    entry_points: tuple[str, ...]


def overview(codebase: Codebase, ask: Ask) -> str:
    """A few hundred words in Markdown: the purpose, what each file does, how to run it. Asks one question and raises
    the errors of `ask`. If no answer is usable, call `static_overview` instead."""
    paths = {*codebase.files, *(module.path for module in codebase.modules)}
    folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents}

    def check(answer: RepositoryOverview) -> str | None:
        unknown = [p.path for p in answer.parts if p.path.removeprefix("./").rstrip("/") not in paths | folders]
        if unknown:
            return f"{', '.join(unknown[:5])}: no such file or folder is listed; give paths as they are listed"
        if not answer.purpose.strip() or not answer.parts:
            return "say what the repository is for, and name at least one file with what it does"
        return None

    inputs = {"readme": readme_head(codebase), "tree": file_tree(codebase), "symbols": symbol_list(codebase)}
    answer = ask(prompt("overview"), RepositoryOverview, inputs, about=codebase.repository.id, check=check)
    lines = [" ".join(answer.purpose.split()), ""]
    lines += [
        f"- `{part.path.removeprefix('./')}`: {' '.join(part.does.split())}" for part in answer.parts[:_MAX_PARTS]
    ]
    if answer.entry_points:
        lines += ["", f"Run: {'; '.join(' '.join(point.split()) for point in answer.entry_points)}"]
    return "\n".join(lines)


def static_overview(codebase: Codebase) -> str:
    """An overview without a model: the first prose paragraph of the readme, and the definitions in the files."""
    paragraphs = (" ".join(p.split()) for p in re.split(r"\n\s*\n", readme_head(codebase)))
    prose = next((p for p in paragraphs if len(p) > 60 and not p.startswith(("#", "-", "*", "|", "`"))), "")
    files = [
        f"- `{module.path}`: {', '.join(s.symbol.qualified_name for s in tops(module)[:6])}"
        for module in by_importance(codebase)[:_MAX_PARTS]
        if tops(module)
    ]
    return "\n".join([*([prose, ""] if prose else []), *files])


def readme_head(codebase: Codebase) -> str:
    """The beginning of the readme without images, badges and HTML."""
    text = re.sub(
        r"<!--[\s\S]*?(?:-->|\Z)|<[^>\n]{1,400}>|\[?!\[[^\]]{0,500}+\]\([^)]{0,1000}+\)(?:\]\([^)]{0,1000}+\))?",
        "",
        codebase.readme,
    )
    text = re.sub(r"\n\s*\n\s*(?:\n\s*)*", "\n\n", text).strip()
    return text if len(text) <= _README else f"{text[:_README].rsplit(None, 1)[0]} … (cut)"


def file_tree(codebase: Codebase) -> str:
    """One line per folder: the names of its parsed files and the number of others; for the top folder all names."""
    parsed = {module.path for module in codebase.modules}
    folders: dict[str, list[str]] = {}
    for path in sorted({*codebase.files, *parsed}):
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, []).append(name)
    lines = []
    for folder, names in sorted(folders.items(), key=lambda item: (bool(_ASIDE.search(f"{item[0]}/")), item[0])):
        own = [name for name in names if not folder or f"{folder}/{name}" in parsed]
        more = len(names) - len(own[:_NAMES_A_LINE])
        listed = [*own[:_NAMES_A_LINE], *([f"{more} other files" if own else f"{more} files"] if more else [])]
        lines.append(f"{folder or '.'}/: {', '.join(listed)}")
    if len(lines) > _TREE_LINES:
        lines = [*lines[:_TREE_LINES], f"… and {len(lines) - _TREE_LINES} more folders"]
    return "\n".join(lines)


def symbol_list(codebase: Codebase) -> str:
    """Files with their classes and functions, each with signature and start of the docstring."""
    lines: list[str] = []
    length, omitted = 0, 0
    for module in by_importance(codebase):
        block = [f"{module.path}{_summary(module.symbols[0]) if _is_module(module) else ''}"]
        listed = tops(module)
        block += [f"  {line}" for symbol in listed[:_SYMBOLS_A_FILE] for line in _lines_of(symbol, module)]
        if len(listed) > _SYMBOLS_A_FILE:
            block.append(f"  … and {len(listed) - _SYMBOLS_A_FILE} more")
        size = sum(map(len, block))
        if length + size > _SYMBOLS and lines:
            omitted += 1
            continue
        lines += block
        length += size
    if omitted:
        lines.append(f"… and {omitted} more files")
    return "\n".join(lines)


def by_importance(codebase: Codebase) -> list[Module]:
    """The modules. Those that the readme names or that can be run come first, vendored packages, tests and the like
    last."""
    vendored = vendored_folders(codebase)

    def order(module: Module) -> tuple[bool, bool, int, str]:
        aside = _ASIDE.search(module.path) is not None or is_inside(module.path, vendored)
        named = module.path.rpartition("/")[2] in codebase.readme or "__main__" in module.text
        return aside, not named, module.path.count("/"), module.path

    return sorted(codebase.modules, key=order)


def _is_module(module: Module) -> bool:
    return bool(module.symbols) and module.symbols[0].symbol.kind == "module"


def tops(module: Module) -> list[SourceSymbol]:
    """The functions and classes that are not inside others."""
    kinds = ("class", "function")
    return [s for s in module.symbols if s.symbol.kind in kinds and "." not in s.symbol.qualified_name]


def described(source: SourceSymbol) -> str:
    """The signature and the start of the docstring."""
    symbol = source.symbol
    return f"{' '.join((symbol.signature or symbol.qualified_name).split())[:160]}{_summary(source)}"


def _lines_of(source: SourceSymbol, module: Module) -> Iterator[str]:
    symbol = source.symbol
    yield described(source)
    methods = [s.symbol.qualified_name.rpartition(".")[2] for s in module.symbols if s.parent == symbol.id]
    public = [name for name in methods if not name.startswith("__")]
    if symbol.kind == "class" and public:
        yield f"  methods: {', '.join(public[:12])}"


def _summary(source: SourceSymbol) -> str:
    first = re.split(r"(?<=[.!?])\s|\n\s*\n", source.docstring.strip(), maxsplit=1)[0]
    text = textwrap.shorten(first, _DOCSTRING, placeholder=" …")
    return f"  # {text}" if text else ""
