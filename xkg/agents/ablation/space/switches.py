"""Finds values that configure a method: argparse options, dataclass fields, constants, attributes, dictionary entries,
arguments, and entries in configuration files."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Literal

from xkg.agents.ablation.candidates import COMMAND, Place, Replacement
from xkg.agents.ablation.space.constants import assigned
from xkg.agents.ablation.space.exclusions import beside_the_method
from xkg.agents.ablation.space.probes import TEXT, VALUE
from xkg.agents.ablation.space.python_source import Function, PythonSource, defaults_of, draws, last_name, root_name
from xkg.build.code.settings import Setting
from xkg.value import Value

Origin = Literal["option", "field", "setting", "attribute", "constant", "entry", "default", "argument"]
PRIOR: Mapping[Origin, float] = {
    "option": 0.5, "field": 0.5, "setting": 0.5, "attribute": 0.5, "constant": 0.4, "entry": 0.4,
    "default": 0.3, "argument": 0.4,
}  # fmt: skip
"""The expected importance of a switch before any run. Values that the author made configurable rank higher."""

Literal_ = bool | int | float | str
_CONFIGURED = frozenset({"dataclass", "dataclasses", "BaseModel", "BaseSettings", "NamedTuple", "attrs", "define"})


class Switch(Value):
    """A named value. `text` is the value's source, which is located at `at`. `choices` are the possible values. For a
    default, `scope` is the function's body. `given` means that the command sets the value, so a change to `at` has no
    effect. `converted` inserts a probe into an option's converter. `converts` means that the converter also applies to
    the default."""

    name: str
    origin: Origin
    value: Literal_
    text: str
    place: Place
    at: Replacement
    choices: tuple[str, ...] = ()
    function: str = ""
    scope: Place | None = None
    given: bool = False
    converted: Replacement | None = None
    converts: bool = False

    @property
    def short(self) -> str:
        """Returns the name used in the code."""
        return self.name.rpartition(".")[2].replace("-", "_")

    def set_to(self, new: str) -> Replacement:
        return self.at.model_copy(update={"new": new})

    def probes(self) -> tuple[Replacement, ...]:
        """Returns the changes that set the switch to a value that ends the run when used, or no changes if there is no
        such value."""
        if self.at.path == COMMAND or self.converts:
            return () if self.converted is None else (self.converted,)
        if self.origin == "setting":
            plain = self.at.path.endswith((".yaml", ".yml", ".ini", ".cfg", ".conf"))
            return (self.set_to(TEXT if plain else f'"{TEXT}"'),)
        if self.at.new:  # the option has no default
            return (self.set_to(f"{self.at.old}, default={VALUE}"),)
        return (self.set_to(VALUE),)


def python_switches(
    source: PythonSource, parameters: Mapping[str, Sequence[str]], compared: Mapping[str, Sequence[str]]
) -> Iterator[Switch]:
    """Yields the switches in a file. `parameters` is the result of `parameters_of`, and `compared` is the result of
    `compared_with`."""
    for switch in _switches(source, parameters):
        if not isinstance(switch.value, str) or switch.choices:
            yield switch
        elif switch.value in (others := compared.get(_bare(switch.name), ())):
            yield switch.model_copy(update={"choices": tuple(map(repr, others))})


def compared_with(sources: Sequence[PythonSource]) -> dict[str, tuple[str, ...]]:
    """Returns the possible values of each name: strings that code compares with it, and keys of tables in which code
    looks it up."""
    found: dict[str, set[str]] = {}
    for source in sources:
        tables = {
            last_name(target): node.value
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
            for target in node.targets
        }
        for node in ast.walk(source.tree):
            match node:
                case ast.Compare(left=value, ops=[ast.Eq()], comparators=[ast.Constant(value=str(text))]):
                    texts = {text}
                case ast.Compare(
                    left=value, ops=[ast.In()], comparators=[ast.Tuple(elts=known) | ast.List(elts=known)]
                ):
                    texts = {each.value for each in known if isinstance(each, ast.Constant) and type(each.value) is str}
                case (
                    ast.Subscript(value=table, slice=value)
                    | ast.Call(func=ast.Attribute(value=table, attr="get"), args=[value, *_])
                ) if isinstance(entries := tables.get(last_name(table), table), ast.Dict):
                    keys = entries.keys
                    texts = {each.value for each in keys if isinstance(each, ast.Constant) and type(each.value) is str}
                case _:
                    continue
            if name := _bare(last_name(value)):
                found.setdefault(name, set()).update(texts)
    return {name: tuple(sorted(texts)) for name, texts in found.items() if len(texts) > 1}


def _bare(name: str) -> str:
    return name.rpartition(".")[2].replace("-", "_").strip("_")


def _switches(source: PythonSource, parameters: Mapping[str, Sequence[str]]) -> Iterator[Switch]:
    classes = {id(f): node.name for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef) for f in node.body}
    beside = beside_the_method(source.tree)
    stored = Counter(
        last_name(n) for n in ast.walk(source.tree) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)
    )
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            yield from (
                _option(source, node)
                if last_name(node.func) == "add_argument"
                else _click_option(source, node)
                if last_name(node.func) == "option" and root_name(node.func) in beside
                else _arguments(source, node, parameters, beside)
            )
        elif isinstance(node, ast.Dict | ast.Assign):
            for key, value in _entries(node, stored):
                if key.replace(" ", "_").isidentifier():
                    yield from _switch(source, key, "entry", value)
        elif isinstance(node, ast.ClassDef) and _is_configuration(node):
            for name, default in _fields(node):
                if default is not None:
                    yield from _switch(source, name, "field", default, function=node.name)
        elif isinstance(node, Function):
            for argument, default in defaults_of(node):
                name = classes.get(id(node), node.name) if node.name == "__init__" else node.name
                scope = Place(
                    path=source.path, start_line=node.body[0].lineno, end_line=node.end_lineno or node.body[0].lineno
                )
                for switch in _switch(source, argument.arg, "default", default, function=name):
                    yield switch.model_copy(update={"scope": scope})
    for name, value, owner in assigned(source.tree):
        yield from _switch(source, name, "attribute" if owner else "constant", value, function=owner)


def _entries(node: ast.Dict | ast.Assign, stored: Mapping[str, int]) -> Iterator[tuple[str, ast.expr]]:
    """Yields the keys of a dictionary with their values. For an assignment, yields only keys that the file assigns once
    (`stored` counts the assignments)."""
    if isinstance(node, ast.Assign):
        keys = [last_name(each) for each in node.targets if isinstance(each, ast.Subscript)]
        yield from ((key, node.value) for key in keys if stored[key] == 1)
        return
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, value


def file_switches(settings: Sequence[Setting], texts: Mapping[str, str]) -> Iterator[Switch]:
    """Yields the configuration file entries that are on a line of their own."""
    for setting in settings:
        lines = texts.get(setting.path, "").split("\n")
        if not 1 <= setting.line <= len(lines):
            continue
        line = lines[setting.line - 1]
        key = setting.name.rpartition(".")[2]
        found = re.match(rf"[ \t]{{0,99}}[\"']?{re.escape(key)}[\"']?[ \t]{{0,9}}[:=][ \t]{{0,9}}", line)
        value = _scalar(setting.value)
        if found is None or value is None or not line[found.end() :].startswith(setting.value):
            continue
        start = sum(len(other) + 1 for other in lines[: setting.line - 1]) + found.end()
        end = start + len(setting.value)
        yield Switch(
            name=setting.name,
            origin="setting",
            value=value,
            text=setting.value,
            place=Place(path=setting.path, start_line=setting.line, end_line=setting.line),
            at=Replacement(path=setting.path, start=start, end=end, old=setting.value, new=""),
        )


def _scalar(text: str) -> bool | int | float | None:
    if text in ("true", "True", "false", "False"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def _option(source: PythonSource, call: ast.Call) -> Iterator[Switch]:
    flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    names = [flag for flag in flags if flag.startswith("--")] or flags
    if not names or not names[0].startswith("-"):
        return
    action = given.get("action")
    if isinstance(action, ast.Constant) and action.value in ("store_true", "store_false") and "default" not in given:
        default = action.value == "store_false"
        at = source.replaced(action, "")
        yield Switch(
            name=names[0].lstrip("-"),
            origin="option",
            value=default,
            text=str(default),
            place=source.place(call),
            at=at.model_copy(update={"new": f"{at.old}, default={not default}"}),
        )
        return
    choices = given.get("choices")
    listed = choices.elts if isinstance(choices, ast.List | ast.Tuple) else []
    texts = tuple(source.code(item) for item in listed if isinstance(item, ast.Constant))
    if "default" in given:
        node = given.get("type") or given["default"]
        to = f"lambda _: {VALUE}" if "type" in given else f"{source.code(node)}, type=lambda _: {VALUE}"
        converted = source.replaced(node, to)
        for switch in _switch(source, names[0].lstrip("-"), "option", given["default"], texts):
            yield switch.model_copy(update={"converted": converted})


def _click_option(source: PythonSource, call: ast.Call) -> Iterator[Switch]:
    """Yields the switch for `click.option("--rate", default=0.1)`. click converts defaults like values from the command
    line."""
    flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    names = [flag.partition("/")[0] for flag in flags if flag.startswith("--")]
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    default = given.get("default")
    if not names or default is None:
        return
    kind = given.get("type")
    listed = kind.args[0] if isinstance(kind, ast.Call) and last_name(kind.func) == "Choice" and kind.args else None
    items = listed.elts if isinstance(listed, ast.List | ast.Tuple) else []
    choices = tuple(source.code(item) for item in items if isinstance(item, ast.Constant))
    probe = source.replaced(default, f"{source.code(default)}, callback=lambda *_: {VALUE}")
    for switch in _switch(source, names[0].lstrip("-"), "option", default, choices):
        yield switch.model_copy(update={"converts": True, "converted": None if "callback" in given else probe})


def given_by(switch: Switch, command: str) -> Switch:
    """Returns the switch with the value from the command, or unchanged if the command does not set it."""
    if switch.origin not in ("option", "setting"):
        return switch
    name = re.escape(switch.name).replace(r"\-", "[-_]").replace("_", "[-_]")
    sign = "--?" if switch.origin == "option" else r"\+{0,2}"
    found = re.search(rf"(?<!\S){sign}{name}(?:=(?P<set>\S+)|[ ]+(?P<next>[^\s-]\S*|-[.\d]\S*))?(?!\S)", command)
    if found is None or (switch.origin == "setting" and found["set"] is None):
        return switch
    group = "set" if found["set"] is not None else "next"
    flag = isinstance(switch.value, bool) and switch.at.new
    text = command[found.start() : found.end()].split()[0] if flag else (found[group] or "")
    value = not switch.value if flag else text if isinstance(switch.value, str) else _scalar(text)
    if value is None or (
        isinstance(value, str) and repr(value) not in map(repr, map(ast.literal_eval, switch.choices))
    ):
        return switch.model_copy(update={"given": True})
    start = found.start() if flag else found.start(group)
    return switch.model_copy(
        update={
            "value": value,
            "text": text,
            "place": Place(path=COMMAND, start_line=1, end_line=1),
            "at": Replacement(path=COMMAND, start=start, end=start + len(text), old=text, new=" " if flag else ""),
            "choices": tuple(str(ast.literal_eval(choice)) for choice in switch.choices),
            "converted": None if flag else switch.converted,
        }
    )


def parameters_of(sources: Sequence[PythonSource]) -> dict[str, tuple[str, ...]]:
    """Returns the parameters of functions and classes by name. Omits names with several signatures."""
    return {name: next(iter(of)) for name, of in signatures_of(sources).items() if len(of) == 1}


def signatures_of(sources: Sequence[PythonSource]) -> dict[str, set[tuple[str, ...]]]:
    """Returns the parameters of functions, methods and classes by name, without `self`. The parameters of a
    configuration class are its fields. Each name has a set of signatures, because several definitions may share it."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                methods = (f for f in node.body if isinstance(f, Function))
                own = {
                    f.name: _parameters(f)["staticmethod" not in map(last_name, f.decorator_list) :] for f in methods
                }
                for name, parameters in own.items():
                    found.setdefault(node.name if name == "__init__" else name, set()).add(parameters)
                if "__init__" not in own and _is_configuration(node):
                    found.setdefault(node.name, set()).add(tuple(name for name, _ in _fields(node)))
            elif isinstance(node, ast.Module | Function):
                for inner in node.body:
                    if isinstance(inner, Function):
                        found.setdefault(inner.name, set()).add(_parameters(inner))
    return found


def _parameters(function: Function) -> tuple[str, ...]:
    return tuple(argument.arg for argument in (*function.args.posonlyargs, *function.args.args))


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr | None]]:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement.value


def undeclared(command: str, declared: Set[str]) -> Iterator[Switch]:
    """Yields numbers that the command assigns to names that are not declared as options. Examples are `C=10`, and
    `--rate 0.1` in programs that use `fire`."""
    for match in re.finditer(
        r"(?<!\S)(?:--?(\w[\w.-]{0,80})[= ]|([A-Za-z_][\w.]{0,80})=)(\d[\d.e-]{0,20})(?!\S)", command
    ):
        name = match[1] or match[2]
        value = _scalar(match[3])
        if value is None or name.rpartition(".")[2].replace("-", "_") in declared:
            continue
        yield Switch(
            name=name, origin="setting", value=value, text=match[3],
            place=Place(path=COMMAND, start_line=1, end_line=1),
            at=Replacement(path=COMMAND, start=match.start(3), end=match.end(3), old=match[3], new=""),
        )  # fmt: skip


def _arguments(
    source: PythonSource, call: ast.Call, parameters: Mapping[str, Sequence[str]], beside: Set[str]
) -> Iterator[Switch]:
    """Yields the arguments in calls to the repository's own code and to library constructors. Arguments to other
    library functions count as data, except for flags of functions that draw random numbers."""
    function = last_name(call.func)
    own, makes, random = function in {*parameters, "__init__"}, function[:1].isupper(), draws(call)
    if root_name(call.func) in beside:
        return
    for name, value in zip(parameters.get(function, ()), call.args, strict=False):
        yield from _switch(source, name, "argument", value, function=function)
    for keyword in call.keywords:
        flag = isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool)
        if keyword.arg is not None and (own or (random if flag else makes)):
            yield from _switch(source, keyword.arg, "argument", keyword.value, function=function)


def _switch(
    source: PythonSource,
    name: str,
    origin: Origin,
    node: ast.expr,
    choices: tuple[str, ...] = (),
    function: str = "",
) -> Iterator[Switch]:
    inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    if not isinstance(inner, ast.Constant) or not isinstance(inner.value, bool | int | float | str):
        return
    value = inner.value
    if inner is not node and isinstance(value, int | float):
        value = -value
    yield Switch(
        name=name, origin=origin, value=value, text=source.code(node), place=source.place(node),
        at=source.replaced(node, ""), choices=choices, function=function,
    )  # fmt: skip


def _is_configuration(node: ast.ClassDef) -> bool:
    marks = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list] + list(node.bases)
    names = {m.attr if isinstance(m, ast.Attribute) else m.id for m in marks if isinstance(m, ast.Attribute | ast.Name)}
    return bool(names & _CONFIGURED)
