"""Values that configure a method: options of argparse, fields of dataclasses, constants, entries of dictionaries,
keyword arguments, and the entries of configuration files."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Literal

from xkg.agents.ablation.candidates import Place, Replacement
from xkg.agents.ablation.space.exclusions import beside_the_method, splits_data
from xkg.agents.ablation.space.python_source import PythonSource, last_name
from xkg.build.code.settings import Setting
from xkg.value import Value

Origin = Literal["option", "field", "setting", "constant", "default", "argument"]
PRIOR: Mapping[Origin, float] = {
    "option": 0.5, "field": 0.5, "setting": 0.5, "constant": 0.4, "default": 0.3, "argument": 0.3,
}  # fmt: skip
"""How much a switch is expected to matter before anything is run: what its author made configurable matters more."""

Literal_ = bool | int | float | str
_CONFIGURED = frozenset({"dataclass", "dataclasses", "BaseModel", "BaseSettings", "NamedTuple", "attrs", "define"})


class Switch(Value):
    """A value with a name: `text` is how it is written, at `at`, and `choices` are the values that it may have. `scope`
    is the body of the function whose default it is."""

    name: str
    origin: Origin
    value: Literal_
    text: str
    place: Place
    at: Replacement
    choices: tuple[str, ...] = ()
    function: str = ""
    scope: Place | None = None

    def set_to(self, new: str) -> Replacement:
        return self.at.model_copy(update={"new": new})


def python_switches(source: PythonSource, parameters: Mapping[str, Sequence[str]]) -> Iterator[Switch]:
    """The switches of a file. `parameters` are those of the repository's classes by name, without self."""
    classes = {id(f): node.name for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef) for f in node.body}
    beside = beside_the_method(source.tree)
    tables = _data_tables(source.tree)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            yield from (
                _option(source, node)
                if last_name(node.func) == "add_argument"
                else _arguments(source, node, parameters, beside)
            )
        elif isinstance(node, ast.Dict) and id(node) not in tables:
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isidentifier():
                    yield from _switch(source, key.value, "constant", value)
        elif isinstance(node, ast.ClassDef) and _is_configuration(node):
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
                    yield from _switch(source, statement.target.id, "field", statement.value)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            positional = [*node.args.posonlyargs, *node.args.args]
            pairs = list(zip(reversed(positional), reversed(node.args.defaults), strict=False))
            pairs += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None]
            for argument, default in sorted(pairs, key=lambda pair: pair[0].lineno):
                name = classes.get(id(node), node.name) if node.name == "__init__" else node.name
                scope = Place(
                    path=source.path, start_line=node.body[0].lineno, end_line=node.end_lineno or node.body[0].lineno
                )
                for switch in _switch(source, argument.arg, "default", default, function=name):
                    yield switch.model_copy(update={"scope": scope})
    for statement in source.tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            [target] = statement.targets
            if isinstance(target, ast.Name):
                yield from _switch(source, target.id, "constant", statement.value)


def file_switches(settings: Sequence[Setting], texts: Mapping[str, str]) -> Iterator[Switch]:
    """The entries of configuration files that stand on a line of their own."""
    for setting in settings:
        text = texts.get(setting.path)
        if text is None or setting.line < 1:
            continue
        lines = text.split("\n")
        if setting.line > len(lines):
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
        yield from _switch(source, names[0].lstrip("-"), "option", given["default"], texts)


def class_parameters(sources: Sequence[PythonSource]) -> dict[str, tuple[str, ...]]:
    """By class the parameters of its `__init__`, without self."""
    return {
        node.name: tuple(a.arg for a in f.args.args[1:])
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef)
        for f in node.body
        if isinstance(f, ast.FunctionDef) and f.name == "__init__"
    }


def options_read(sources: Sequence[PythonSource]) -> frozenset[str] | None:
    """The names that some code may read of the options: attributes, strings outside `add_argument`, and parameters.
    None where all may be read at once (`vars(args)`, `**kwargs`), by code that names none."""
    found: set[str] = set()
    for source in sources:
        declared = {
            id(inner)
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Call) and last_name(node.func) == "add_argument"
            for inner in ast.walk(node)
        }
        for node in ast.walk(source.tree):
            match node:
                case ast.Call(func=ast.Name(id="vars")) | ast.Attribute(attr="__dict__") | ast.keyword(arg=None):
                    return None
                case ast.Attribute(attr=name) | ast.Name(id=name) | ast.arg(arg=name):
                    found.add(name)
                case ast.Constant(value=str(name)) if id(node) not in declared:
                    found.add(name)
    return frozenset(found)


def _arguments(
    source: PythonSource, call: ast.Call, parameters: Mapping[str, Sequence[str]], beside: Set[str]
) -> Iterator[Switch]:
    function = last_name(call.func)
    if splits_data(function) or _root(call.func) in beside:
        return
    for name, value in zip(parameters.get(function, ()), call.args, strict=False):
        yield from _switch(source, name, "argument", value, function=function)
    for keyword in call.keywords:
        if keyword.arg is not None and function:
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
    if isinstance(inner.value, str) and not choices:
        return
    value = inner.value
    if inner is not node and isinstance(value, int | float):
        value = -value
    yield Switch(
        name=name, origin=origin, value=value, text=source.code(node), place=source.place(node),
        at=source.replaced(node, ""), choices=choices, function=function,
    )  # fmt: skip


def _data_tables(tree: ast.Module) -> set[int]:
    """The dictionaries that hold data, by the name that they are given."""
    return {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and splits_data(t.id) for t in node.targets)
        for inner in ast.walk(node.value)
        if isinstance(inner, ast.Dict)
    }


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_configuration(node: ast.ClassDef) -> bool:
    marks = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list] + list(node.bases)
    names = {m.attr if isinstance(m, ast.Attribute) else m.id for m in marks if isinstance(m, ast.Attribute | ast.Name)}
    return bool(names & _CONFIGURED)
