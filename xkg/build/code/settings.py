"""Reads values from a repository's configuration files (YAML, JSON, TOML, gin, INI). Each value has a dotted name, a
file and a line.

Never executes file contents. YAML is composed into nodes without constructing objects, and aliases are followed within
a limit."""

import configparser
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import yaml

from xkg.value import Value

LARGEST_FILE = 200_000  # bytes; larger files probably contain data
MOST_FILES = 150
_MOST_BYTES = 1_500_000
_MOST_IN_FILE = 300
_MOST = 2500
_DEEPEST = 8
_DEEPEST_NODE = 40
_MOST_EVENTS = 40_000
_LONGEST = 120  # characters in a value
_MOST_ITEMS = 12  # maximum number of items in a list
_SUFFIXES = ("yaml", "yml", "json", "toml", "gin", "ini", "cfg", "conf")
_ELSE_FOLDER = re.compile(
    r"(?:^|/)(?:\.[^/]+|node_modules|docs?|tests?|data|datasets?|assets|website|third_party|vendor|wandb|results?"
    r"|outputs?|logs?)/",
    re.IGNORECASE,
)
_ELSE_STEM = re.compile(
    r"\A(?:\.|tsconfig|docker-compose|(?:package(?:-lock)?|composer|manifest|pyproject|setup|tox|pytest|mypy|codecov"
    r"|mkdocs|poetry)\Z)|environment|conda|requirement|lock|vocab|tokenizer|index|metadata|citation",
    re.IGNORECASE,
)
_LIKELY = re.compile(r"(?i)conf|cfg|param|hyper|option|setting|exp|train|model|default|recipe")
_GIN = re.compile(r"^[ \t]*+((?:[\w.-]+/)*+[\w-]+(?:\.[\w-]+)*+)[ \t]*+=[ \t]*+(\S[^\n]*)$", re.MULTILINE)
_BLOCK = re.compile(r"^[ \t]{0,40}[\w.\"-]{1,80}[ \t]{0,40}[=:]?[ \t]{0,40}\{[ \t]{0,40}$", re.MULTILINE)
_ENTRY = re.compile(r"\"?([\w.-]{1,80})\"?[ \t]{0,40}[=:][ \t]{0,40}(\S.{0,500})$")
_NAME = re.compile(r"[ \t]{0,40}+([^=:\n]{1,200}+)[=:]")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Setting(Value):
    """A value in a configuration file. `name` is its path in the file, such as "optim.lr". `value` is its source text
    on one line. `line` is 0 if it is unknown."""

    path: str
    line: int
    name: str
    value: str


def is_settings(path: str, size: int | None) -> bool:
    """Returns whether a file may configure an experiment, according to its path and size."""
    if path.rpartition(".")[2].lower() not in _SUFFIXES or (size or 0) > LARGEST_FILE:
        return False
    stem = path.rpartition("/")[2].rpartition(".")[0]
    return _ELSE_FOLDER.search(path) is None and _ELSE_STEM.search(stem) is None


def likeliest(paths: Sequence[str]) -> list[str]:
    """Returns the paths of the files that most likely configure experiments, best first. Returns at most 150 paths."""
    return sorted(paths, key=lambda p: (_LIKELY.search(p) is None, p.count("/"), p))[:MOST_FILES]


def settings_in(texts: Mapping[str, str], mark: Callable[[str], None] = lambda _: None) -> tuple[Setting, ...]:
    """Returns the settings in these files, in file order, up to a maximum size. `texts` maps each path to the file's
    text. If a file does not parse, includes only the settings before the error. `mark` is called with each file's path
    before the file is read."""
    out: list[Setting] = []
    size = 0
    for path, text in texts.items():
        size += len(text)
        if size > _MOST_BYTES or len(out) >= _MOST:
            break
        mark(path)
        found: list[Setting] = []
        # Values that were read before an error are kept.
        with suppress(yaml.YAMLError, ValueError, configparser.Error, RecursionError, TypeError, IndexError):
            for setting in _read(path, text):
                found.append(setting)
                if len(found) >= _MOST_IN_FILE:
                    break
        out += found
    return tuple(out[:_MOST])


def _read(path: str, text: str) -> Iterator[Setting]:
    kind = path.rpartition(".")[2].lower()
    if kind in ("yaml", "yml", "json"):
        text = text.replace("\t", " ")
        _require_shallow(text)
        for node in yaml.compose_all(text, Loader=_LOADER):
            yield from _nodes(path, node, "", 0, [2 * _MOST_IN_FILE])
    elif kind == "toml":
        yield from _tables(path, _first_lines(text), tomllib.loads(text), "", 0)
    elif kind == "gin":
        for match in _GIN.finditer(text):
            yield Setting(
                path=path,
                line=text.count("\n", 0, match.start(1)) + 1,
                name=match[1].rpartition("/")[2],
                value=_short(match[2].partition(" #")[0]),
            )
    elif _BLOCK.search(text):
        yield from _blocks(path, text)
    else:
        parser = configparser.RawConfigParser(strict=False, interpolation=None)
        parser.read_string(text)
        lines = _first_lines(text)
        for section in parser.sections():
            for name, value in parser.items(section):
                yield _found(path, lines, f"{section}.{name}", value)


def _require_shallow(text: str) -> None:
    """Raises `ValueError` for YAML with deeper nesting or more nodes than any real configuration. The YAML composer
    would recurse too deeply, even in C with libyaml."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=_LOADER)):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST_NODE or count > _MOST_EVENTS:
            raise ValueError("nested too deeply or too long")


def _nodes(path: str, node: Any, name: str, depth: int, left: list[int]) -> Iterator[Setting]:
    """Yields the values in a YAML node. `left` decreases with each node, including nodes reached through aliases."""
    left[0] -= 1
    if left[0] < 0 or depth > _DEEPEST or node is None:
        return
    line = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        if name:
            yield Setting(path=path, line=line, name=name, value=_short(node.value))
    elif isinstance(node, yaml.SequenceNode):
        if name and all(isinstance(item, yaml.ScalarNode) for item in node.value):
            items = [item.value for item in node.value[:_MOST_ITEMS]]
            more = ", …" if len(node.value) > _MOST_ITEMS else ""
            yield Setting(path=path, line=line, name=name, value=_short(f"[{', '.join(items)}{more}]"))
        else:
            for i, item in enumerate(node.value[:_MOST_ITEMS]):
                yield from _nodes(path, item, f"{name}.{i}" if name else str(i), depth + 1, left)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and len(key.value) < 80:
                yield from _nodes(path, value, f"{name}.{key.value}" if name else key.value, depth + 1, left)


def _tables(path: str, lines: Mapping[str, int], table: Mapping[str, Any], name: str, depth: int) -> Iterator[Setting]:
    for key, value in table.items():
        full = f"{name}.{key}" if name else str(key)
        if isinstance(value, dict):
            if depth < _DEEPEST:
                yield from _tables(path, lines, value, full, depth + 1)
        else:
            yield _found(path, lines, full, str(value))


def _blocks(path: str, text: str) -> Iterator[Setting]:
    """Yields the `name = value` lines in `name { … }` blocks, as in HOCON files."""
    inside: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.partition("#")[0].partition("//")[0].strip().rstrip(",")
        if stripped.endswith("{"):
            inside.append(stripped[:-1].strip(' \t=:"'))
        elif stripped.startswith("}"):
            del inside[-1:]
        elif match := _ENTRY.match(stripped):
            yield Setting(path=path, line=number, name=".".join([*inside[:_DEEPEST], match[1]]), value=_short(match[2]))


def _first_lines(text: str) -> dict[str, int]:
    """Returns the number of the first line that sets each name, keyed by the lower-case name."""
    first: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _NAME.match(line):
            first.setdefault(match[1].strip(' \t"').lower(), number)
    return first


def _found(path: str, lines: Mapping[str, int], name: str, value: str) -> Setting:
    line = lines.get(name.rpartition(".")[2].lower(), 0)
    return Setting(path=path, line=line, name=name, value=_short(value))


def _short(value: str) -> str:
    line = " ".join(value.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
