"""The values that located code reads from its repository's configuration, as a short excerpt with file names.

Reads are found in the syntax: attributes and keys of objects with names such as `cfg`, values that callers pass from
such objects, and parameters bound by gin and hydra. The values come from configuration files, from defaults of command
lines and flags, and from fields of classes and dictionaries with such names."""

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xkg.build.code.codebase import Codebase, Module
from xkg.build.code.languages.python import parse_ast
from xkg.build.code.settings import Setting

MOST_CHARACTERS = 2_000
_MOST_NAMES = 30
_MOST_FILES = 3  # per name
_MOST_CALLS = 6
_HOLDER = re.compile(
    r"(?i)^_*(?:[a-z0-9]+_)*(?:cfgs?|conf|configs?|configuration|args?|arguments|opts?|options?|h?params?|hps?"
    r"|hyper_?params?|hyperparameters|flags?|settings?)$"
)
_HOLDING_CLASS = re.compile(
    r"(?:Config(?:uration)?|Cfg|Args|Arguments|Params|Hyper[Pp]arameters|HParams|Options|Settings)$"
)
_OF_CONTAINERS = frozenset(
    "get items keys values update pop copy to_dict as_dict to_container merge setdefault add_argument parse_args "
    "lock".split()
)
_PARAMETER = re.compile(r"[(,]\s*\*{0,2}(\w+)(?=\s*[:=,)])")
# Settings that only run an experiment: paths, devices, logs.
_PLUMBING = re.compile(
    r"(?i)(?:^|\.)(?:conf|config|cfg|mode|case|name|gpus?|device|cuda|workers|resume|is_continue|verbose|debug|project"
    r"|entity|use_tb|use_wandb|(?:wandb|log|save|exp|run|job)\w*|\w*_(?:dir|path|file|root|folder|name|workers))$"
)
_TARGET = re.compile(r"(?:_target_|class_path|target|class_name)$")
_DEFAULTS = re.compile(r"(?i)default|base|config\.|main|train")
_LONGEST = 120

Path = tuple[str, ...]
"""The names that lead to a configured value: `cfg.optim.lr` is ("optim", "lr")."""


@dataclass(frozen=True)
class _Read:
    path: Path
    file: str  # the reading file
    by: str = ""  # the parameter that receives it in a call


def configuration(codebase: Codebase, symbols: Sequence[str]) -> str:
    """The values that these symbols (ids) read, one per line under their files, about 2,000 characters at most; "" if
    they read none."""
    reads = list(dict.fromkeys([*_own_reads(codebase, symbols), *_passed(codebase, symbols)]))[:_MOST_NAMES]
    bound = list(_bound(codebase, symbols))
    if not reads and not bound:
        return ""
    by_leaf: dict[str, list[Setting]] = {}
    for setting in [*codebase.settings, *_python_settings(codebase)]:
        by_leaf.setdefault(_plain(setting.name.rpartition(".")[2]), []).append(setting)
    found: dict[str, list[str]] = {}
    size = 0
    rows = [(setting, "", others) for setting, others in bound]
    near = _importers(codebase, symbols)
    rows += [
        (setting, read.by, others)
        for read in reads
        for setting, others in _values(read.path, by_leaf, (frozenset({read.file}), near))
    ]
    for setting, by, others in rows:
        line = f"{setting.line or '?'}: {setting.name} = {setting.value}"
        line += f"  (passed as {by})" if by else ""
        line += f"  (elsewhere {'; '.join(others)})" if others else ""
        if (
            _PLUMBING.search(setting.name)
            or line in found.get(setting.path, ())
            or size + len(line) + 3 > MOST_CHARACTERS
        ):
            continue
        size += len(line) + 3 + (0 if setting.path in found else len(setting.path) + 2)
        found.setdefault(setting.path, []).append(line)
    blocks = (
        f"{path}\n" + "\n".join(f"  {line}" for line in sorted(lines, key=_line)) for path, lines in found.items()
    )
    return "\n".join(blocks)


def _line(text: str) -> int:
    number = text.partition(":")[0]
    return int(number) if number.isdigit() else 0


def _plain(name: str) -> str:
    return name.replace("-", "_").casefold()


def _importers(codebase: Codebase, symbols: Sequence[str]) -> frozenset[str]:
    """The files that import one of the symbols' modules."""
    known = codebase.symbols()
    paths = {known[s].symbol.path for s in symbols if s in known}
    return frozenset(m.path for m in codebase.modules if any(i.target in paths for i in m.imports))


def _values(
    path: Path, by_leaf: Mapping[str, Sequence[Setting]], near: Sequence[frozenset[str]]
) -> Iterator[tuple[Setting, list[str]]]:
    """The setting that a path most likely means, and other values of the same name. If Python files set it, those in
    the first matching group of `near` are preferred."""
    wanted = [_plain(part) for part in path]
    candidates = by_leaf.get(wanted[-1], ())
    if not candidates:
        return

    def shared(setting: Setting) -> int:
        names = [_plain(part) for part in setting.name.split(".")]
        count = 0
        while count < min(len(names), len(wanted)) and names[-1 - count] == wanted[-1 - count]:
            count += 1
        return count

    best = max(shared(setting) for setting in candidates)
    found = [s for s in candidates if shared(s) == best]
    own = next((own for files in near if (own := [s for s in found if s.path in files])), None)
    yield _likeliest([s for s in found if own is None or s in own or not s.path.endswith(".py")])


def _likeliest(settings: Sequence[Setting]) -> tuple[Setting, list[str]]:
    """The setting from a default or base file, and other values of the same name with their files."""
    first, *rest = sorted(
        settings, key=lambda s: (s.name.count("."), _DEFAULTS.search(s.path) is None, s.path.count("/"), s.path, s.line)
    )
    others: dict[str, str] = {}
    for setting in rest:
        if setting.value != first.value and setting.value not in others and len(others) < _MOST_FILES:
            others[setting.value] = setting.path
    return first, [f"{value} in {file}" for value, file in others.items()]


def _bound(codebase: Codebase, symbols: Sequence[str]) -> Iterator[tuple[Setting, list[str]]]:
    """The values that gin binds to the symbols' parameters by name (`Trainer.clip = 1.0`), and those next to `_target_`
    in hydra files."""
    known = codebase.symbols()
    parts = (known[s].symbol.qualified_name.split(".") for s in symbols if s in known)
    names = {name for qualified in parts for name in qualified if name and name not in ("__init__", "forward")}
    targets = {
        (setting.path, setting.name.rpartition(".")[0])
        for setting in codebase.settings
        if _TARGET.match(setting.name.rpartition(".")[2]) and setting.value.rpartition(".")[2] in names
    }
    grouped: dict[str, list[Setting]] = {}
    for setting in codebase.settings:
        owner, _, leaf = setting.name.rpartition(".")
        gin = setting.path.endswith(".gin") and owner.rpartition(".")[2] in names
        if gin or ((setting.path, owner) in targets and not _TARGET.match(leaf)):
            grouped.setdefault(setting.name, []).append(setting)
    yield from map(_likeliest, grouped.values())


# --- what code reads --------------------------------------------------------------------------------------------------


def _own_reads(codebase: Codebase, symbols: Sequence[str]) -> Iterator[_Read]:
    """The symbols' own reads, and the reads in their class that set attributes used by their methods."""
    known = codebase.symbols()
    for identity in symbols:
        if identity not in known:
            continue
        symbol = known[identity].symbol
        tree = parse_ast(textwrap.dedent(codebase.source(symbol)))
        if tree is None:
            continue
        yield from (_Read(path, symbol.path) for path in reads_in(tree))
        owner = known.get(identity.rpartition(".")[0]) if symbol.kind == "method" else None
        whole = parse_ast(textwrap.dedent(codebase.source(owner.symbol))) if owner is not None else None
        used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _last(node.value) == "self"}
        for node in ast.walk(whole) if whole is not None else ():
            if isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Attribute) and _last(t.value) == "self" and t.attr in used for t in node.targets
            ):
                yield from (_Read(path, symbol.path) for path in reads_in(node.value))


def reads_in(tree: ast.AST) -> Iterator[Path]:
    """The paths that code reads from configurations, in order."""
    inner: set[int] = set()
    for node in ast.walk(tree):
        if id(node) in inner or not isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
            continue
        path = _path(node)
        if path is not None:
            inner.update(id(part) for part in ast.walk(node))
            yield path


def _path(node: ast.expr) -> Path | None:
    """The path that an expression reads from a configuration."""
    parts: list[str] = []
    at: ast.expr = node
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return None
    while True:
        match at:
            case ast.Attribute(value=inner, attr=name):
                parts.append(name)
                at = inner
            case ast.Subscript(value=inner, slice=ast.Constant(value=str(name))):
                parts += name.split(".")[::-1]
                at = inner
            case ast.Call(func=ast.Attribute(value=inner, attr=method), args=[ast.Constant(value=str(name)), *_]) if (
                method == "pop" or method.startswith("get")
            ):
                parts += name.split(".")[::-1]
                at = inner
            case ast.Call(func=ast.Name(id="getattr"), args=[inner, ast.Constant(value=str(name)), *_]):
                parts.append(name)
                at = inner
            case ast.Name(id=name):
                parts.append(name)
                break
            case _:
                return None
    parts.reverse()
    holder = max((i for i, part in enumerate(parts[:-1]) if _HOLDER.match(part)), default=None)
    if holder is None:
        return None
    path = tuple(part for part in parts[holder + 1 :] if part)
    return None if not path or path[-1] in _OF_CONTAINERS or path[-1].startswith("__") else path


def _passed(codebase: Codebase, symbols: Sequence[str]) -> Iterator[_Read]:
    """The values that callers of the symbols' functions pass from configurations, singly or as a whole section
    (`**cfg`)."""
    for call, file, parameters in _calls(codebase, symbols):
        for keyword in call.keywords:
            path = _path(keyword.value)
            if keyword.arg and path:
                yield _Read(path, file, keyword.arg if keyword.arg != path[-1] else "")
            elif keyword.arg is None and (path or _is_holder(keyword.value)):
                section = _section(codebase.settings, path or (), parameters)
                yield from (_Read(tuple(name.split(".")), file) for name in section)
        yield from (_Read(path, file) for value in call.args if (path := _path(value)))


def _calls(codebase: Codebase, symbols: Sequence[str]) -> Iterator[tuple[ast.Call, str, frozenset[str]]]:
    """Calls of the symbols' functions and classes, with the calling file and the parameter names."""
    known = codebase.symbols()
    left = _MOST_CALLS
    for identity in symbols[:3]:
        if identity not in known:
            continue
        symbol = known[identity].symbol
        owner, _, name = symbol.qualified_name.rpartition(".")
        if symbol.kind == "method":
            name = owner.rpartition(".")[2]
        constructor = known.get(f"{identity.rpartition('::')[0]}::{name}.__init__")
        signature = (constructor.symbol if constructor is not None else symbol).signature
        parameters = frozenset(_PARAMETER.findall(signature))
        for module in codebase.modules if name else ():
            if module.language != "python" or f"{name}(" not in module.text or not left:
                continue
            tree = parse_ast(module.text)
            for node in ast.walk(tree) if tree is not None else ():
                if isinstance(node, ast.Call) and _last(node.func) == name and left:
                    left -= 1
                    yield node, module.path, parameters


def _is_holder(node: ast.expr) -> bool:
    return _HOLDER.match(_last(node)) is not None


def _section(settings: Sequence[Setting], path: Path, parameters: frozenset[str]) -> list[str]:
    """The names of the settings in the section that a path means. For a whole file: in the section with the most
    parameter names."""
    sections: dict[tuple[str, str], list[str]] = {}
    for setting in settings:
        owner, _, leaf = setting.name.rpartition(".")
        if leaf in parameters and tuple(owner.split("."))[-len(path) or len(owner) + 1 :] == path:
            sections.setdefault((setting.path, owner), []).append(setting.name)
    best = max(sections.values(), key=len, default=[])
    return best if path or len(best) > 1 else []


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


# --- what Python files set --------------------------------------------------------------------------------------------


def _python_settings(codebase: Codebase) -> Iterator[Setting]:
    for module in codebase.modules:
        if module.language == "python" and re.search(r"(?i)add_argument|DEFINE_|conf|args|param|option", module.text):
            tree = parse_ast(module.text)
            if tree is not None:
                yield from _declared(module, tree)


def _declared(module: Module, tree: ast.Module) -> Iterator[Setting]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument")):
                yield from _argument(module, node)
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), default, *_]) if _last(
                function
            ).startswith("DEFINE_"):
                yield _setting(module, node, name, default)
            case ast.Call(func=ast.Attribute(attr="set_defaults"), keywords=keywords):
                yield from (_setting(module, node, k.arg, k.value) for k in keywords if k.arg)
            case ast.ClassDef(name=name) if _HOLDING_CLASS.search(name) or _is_dataclass(node):
                yield from _fields(module, node)
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                if (path := _target(target)) is not None:
                    yield _setting(module, node, ".".join(path), value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _HOLDER.match(name):
                yield from _entries(module, value, "")


def _is_dataclass(node: ast.ClassDef) -> bool:
    names = (_last(mark.func if isinstance(mark, ast.Call) else mark) for mark in node.decorator_list)
    return any(name in ("dataclass", "chex.dataclass", "define", "frozen") for name in names)


def _argument(module: Module, node: ast.Call) -> Iterator[Setting]:
    names = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    long = next((name for name in names if name.startswith("--")), names[0] if names else "")
    dest = given.get("dest")
    name = dest.value if isinstance(dest, ast.Constant) and isinstance(dest.value, str) else long.lstrip("-")
    if not name:
        return
    if "default" in given:
        yield _setting(module, node, name.replace("-", "_"), given["default"])
    elif isinstance(action := given.get("action"), ast.Constant) and action.value in ("store_true", "store_false"):
        yield _setting(module, node, name.replace("-", "_"), ast.Constant(action.value == "store_false"))


def _fields(module: Module, node: ast.ClassDef) -> Iterator[Setting]:
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                if isinstance(value, ast.Call) and _last(value.func) in ("field", "Field"):
                    given = {k.arg: k.value for k in value.keywords}
                    defaults = [given.get("default"), given.get("default_factory"), *value.args[:1]]
                    value = next((default for default in defaults if default is not None), None)
                if value is not None:
                    yield _setting(module, statement, f"{node.name}.{name}", value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield _setting(module, statement, f"{node.name}.{name}", value)


def _target(node: ast.Attribute) -> Path | None:
    """`config.optim.lr = …` as a path."""
    parts: list[str] = []
    at: ast.expr = node
    while isinstance(at, ast.Attribute):
        parts.append(at.attr)
        at = at.value
    if not isinstance(at, ast.Name) or not _HOLDER.match(at.id):
        return None
    return tuple(reversed(parts))


def _entries(module: Module, value: ast.expr, name: str, depth: int = 0) -> Iterator[Setting]:
    """The entries of a dictionary, written with braces or as a call with keyword arguments."""
    pairs: list[tuple[str, ast.expr]] = []
    if isinstance(value, ast.Dict):
        keys = (k.value if isinstance(k, ast.Constant) and isinstance(k.value, str) else "" for k in value.keys)
        pairs = [(key, entry) for key, entry in zip(keys, value.values, strict=True) if key]
    elif isinstance(value, ast.Call) and _last(value.func) in ("dict", "ConfigDict", "Namespace", "SimpleNamespace"):
        pairs = [(k.arg, k.value) for k in value.keywords if k.arg]
        pairs += [pair for a in value.args for pair in _pairs_of(a)]
    for key, entry in pairs:
        full = f"{name}.{key}" if name else key
        if isinstance(entry, ast.Dict) and depth < 4:
            yield from _entries(module, entry, full, depth + 1)
        else:
            yield _setting(module, entry, full, entry)


def _pairs_of(node: ast.expr) -> Iterable[tuple[str, ast.expr]]:
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value


def _setting(module: Module, node: ast.AST, name: str, value: ast.expr) -> Setting:
    text = " ".join(ast.unparse(value).split())
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return Setting(path=module.path, line=getattr(node, "lineno", 0), name=name, value=text)
