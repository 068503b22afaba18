"""Whether a call gives a value of the type and shape of its first argument, so that the code works without it.

The call of a library shows this by its other arguments, and an object by those of its constructor: a size, a text or a
second variable makes another form, as in `Linear(8, 3)(x)`, `conv(x, w)` and `one_hot(x, 10)`. `Dropout(0.5)(x)` and
`scale(x, axis=0)` keep it. A function of the repository may do so if it stores nothing that other code needs."""

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence

from xkg.agents.ablation.space.python_source import PythonSource, last_name, root_name, words_of

_LAYOUT = frozenset(
    "array asarray atleast_1d atleast_2d reshape transpose swapaxes permute tile squeeze unsqueeze expand_dims flatten"
    " ravel view astype copy contiguous numpy to detach cpu".split()
)


def own_steps(sources: Sequence[PythonSource]) -> dict[str, bool]:
    """The repository's functions, and whether all of this name only compute a value."""
    found: dict[str, bool] = {}
    for name, function in (pair for source in sources for pair in source.functions):
        stored = (node for node in ast.walk(function) if isinstance(node, ast.Attribute))
        stores = any(isinstance(node.ctx, ast.Store) for node in stored)
        short = name.rpartition(".")[2]
        found[short] = found.get(short, True) and not stores
    return found


class Forms:
    """The calls of a file. `own` is from `own_steps`."""

    def __init__(self, tree: ast.Module, own: Mapping[str, bool]) -> None:
        self._own = own
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        self.libraries = {each.asname or each.name.partition(".")[0] for node in imports for each in node.names}
        self.libraries -= own.keys()
        self._made: dict[str, ast.expr] = {}
        self._lists: set[str] = set()
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=[target], value=value):
                    for one, part in _pairs(target, value):
                        if name := _name(one):
                            self._made[name] = part
                            self._lists |= {name} if isinstance(part, ast.List | ast.ListComp) else set()
                case ast.Call(func=ast.Attribute(value=value, attr="append")):
                    self._lists.add(_name(value))

    def keeps(self, call: ast.Call) -> bool:
        """Whether a call may give a value of the form of its first argument."""
        function, name = call.func, last_name(call.func)
        if name in self._own:
            return self._own[name]
        layout = name in _LAYOUT or hasattr(builtins, name) or (bool(name) and _LAYOUT.issuperset(words_of(name)))
        if layout or _name(call.args[0]) in self._lists or not _are_plain(call.args[1:], call.keywords):
            return False
        if isinstance(function, ast.Call):
            return all(map(_is_share, function.args))
        if root_name(function) in self.libraries:
            return True
        objects = [function, function.value] if isinstance(function, ast.Attribute) else [function]
        made = next((self._made[_name(each)] for each in objects if _name(each) in self._made), None)
        return isinstance(made, ast.Call) and _sets_no_size(made)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=False)
    else:
        yield target, value


def _name(node: ast.AST) -> str:
    """A variable, or an attribute with a dot."""
    return f".{node.attr}" if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _are_plain(args: list[ast.expr], keywords: list[ast.keyword]) -> bool:
    named = (each.value for each in keywords)
    return all(map(_is_share, args)) and not any(map(_is_size, named))


def _is_share(node: ast.expr) -> bool:
    """Whether a value is a number that is no size: an axis, a rate or a flag."""
    number = node.operand if isinstance(node, ast.UnaryOp) else node
    constant = isinstance(number, ast.Constant) and isinstance(number.value, bool | int | float | None)
    return constant and not _is_size(node)


def _is_size(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1


def _sets_no_size(made: ast.Call) -> bool:
    given = [*made.args, *(each.value for each in made.keywords)]
    return not any(map(_is_size, given)) and sum(not isinstance(each, ast.Constant) for each in given) < 2
