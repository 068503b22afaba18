"""Statements of a program by what they compute: normalised syntax trees as bags of features.

Two statements that compute the same share features whatever their variables are called, however long lines are split
into steps, and whether an argument is passed by position or name. A feature is an operation (a call by its last name,
an operator, a loop), or an operation with one of its operands, as in the tree fragments by which clones are found
(Jiang et al., "DECKARD", ICSE 2007). A variable stands for the operation that gave it its value, so that
`s = f(a); return s + b` has the features of `return f(a) + b`. What adapts code to another place is no logic: imports,
signatures, annotations, docstrings, validation of input, logging, seeds, devices, storing a parameter.
"""

import ast
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xkg.build.code.python import parse_ast

_Function = ast.FunctionDef | ast.AsyncFunctionDef

# Calls that only move a value to another type, device or layout in memory.
_TRANSPARENT = frozenset(
    "to cuda cpu contiguous float double half long int numpy item type astype asarray as_tensor tensor array from_numpy"
    " asnumpy device_put block_until_ready copy clone".split()
)
_ASIDE = frozenset("device dtype requires_grad out name verbose desc".split())
_OPERATORS = {
    **dict.fromkeys(("add", "__add__"), "+"),
    **dict.fromkeys(("sub", "subtract"), "-"),
    **dict.fromkeys(("mul", "multiply"), "*"),
    **dict.fromkeys(("div", "divide", "true_divide"), "/"),
    **dict.fromkeys(("pow", "power", "square"), "**"),
    **dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot"), "@"),
    **dict.fromkeys(("neg", "negative"), "neg"),
    **dict.fromkeys(("size",), "shape"),
    **dict.fromkeys(("transpose", "permute", "t", "swapaxes"), "T"),
    **dict.fromkeys(("mT", "H"), "T"),
    **dict.fromkeys(("reshape", "view"), "reshape"),
    **dict.fromkeys(("concatenate", "concat"), "cat"),
    **dict.fromkeys(("abs", "absolute"), "abs"),
}
_BINARY: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.And: "and",
    ast.Or: "or",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.Gt: "<",
    ast.LtE: "<=",
    ast.GtE: "<=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.Not: "not",
    ast.USub: "neg",
    ast.Invert: "~",
}
_ORDERED = frozenset(("-", "/", "//", "%", "**", "@", "<<", ">>", "<", "<="))
_ARRAY_PARTS = frozenset("shape T mT H grad ndim real imag size".split())
_TALKERS = frozenset("logging logger log warnings writer wandb tqdm pbar progress".split())
_TALK = frozenset(
    "debug info warning warn error exception critical log print add_scalar add_scalars set_description set_postfix"
    " manual_seed manual_seed_all seed simplefilter filterwarnings".split()
)
_DEEPEST = 3


@dataclass
class Statement:
    """A statement that computes something: its 1-based first line and text (of a compound statement its head), its
    features with how often each occurs, and which statements of the same program gave the values that it uses."""

    line: int
    text: str
    features: Counter[str]
    sources: tuple[int, ...] = ()
    weight: float = field(init=False)

    def __post_init__(self) -> None:
        self.weight = sum(weight_of(name) * n for name, n in self.features.items())


def weight_of(feature: str) -> float:
    """How much a feature tells: a named call most, a shape of operands least."""
    return {"c": 1.5, "n": 1.0, "f": 0.5, "e": 0.5, "k": 0.5}[feature[0]]


def statements(source: str) -> list[Statement]:
    """What a program computes, in the order of its lines. What does not parse as a whole (excerpts of files) is read
    piece by piece, and a piece that is no Python gives nothing."""
    found: list[Statement] = []
    for first, tree in _pieces(source):
        _Reader(tree, source.split("\n"), first, found).read()
    return found


# --- reading what is no whole module


def _pieces(source: str) -> Iterator[tuple[int, ast.Module]]:
    """The syntax trees of a source and the number of lines before each."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    whole = parse_ast(source)
    if whole is not None:
        yield 0, whole
        return
    lines = source.split("\n")
    for start, end in _blocks(lines):
        yield from _readable(lines, start, end)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Runs of lines between comments at the margin (heads of excerpts), fences and lines of dots."""
    start = 0
    for i, line in enumerate(lines):
        if re.match(r"#|```|\s*(?:…|\.\.\.)\s*$", line):
            yield start, i
            start = i + 1
    yield start, len(lines)


def _readable(lines: Sequence[str], start: int, end: int) -> Iterator[tuple[int, ast.Module]]:
    while start < end and not lines[start].strip():
        start += 1
    if start >= end:
        return
    tree = parse_ast(textwrap.dedent("\n".join(lines[start:end])))
    if tree is not None:
        yield start, tree
        return
    margin = len(lines[start]) - len(lines[start].lstrip())
    heads = [
        i
        for i in range(start + 1, end)
        if lines[i].strip()
        and len(lines[i]) - len(lines[i].lstrip()) <= margin
        and (not lines[i - 1].strip() or re.match(r"\s*(?:async\s+def|def|class|@)\b", lines[i]))
    ]
    if heads:
        for first, last in zip([start, *heads], [*heads, end], strict=True):
            yield from _readable(lines, first, last)
    elif end - start > 1:  # lines cut out of something: those below the first may stand alone
        yield from _readable(lines, start + 1, end)


# --- from trees to features


class _Reader:
    """Reads the statements of one tree into `found`."""

    def __init__(self, tree: ast.Module, lines: Sequence[str], before: int, found: list[Statement]) -> None:
        self._tree = tree
        self._lines = lines
        self._before = before
        self._found = found
        self._own = {n.name: n for n in ast.walk(tree) if isinstance(n, (_Function, ast.ClassDef))}
        self._modules = _imported(tree)

    def read(self) -> None:
        try:
            self._block(self._tree.body, _Values(frozenset()))
        except RecursionError:  # a formula of a thousand terms: what was read of the others stays
            return

    def _block(self, body: Sequence[ast.stmt], values: "_Values") -> None:
        for statement in body:
            self._statement(statement, values)

    def _statement(self, node: ast.stmt, values: "_Values") -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._block(node.body, _Values(_parameters(node.args), values))
            case ast.ClassDef():
                self._block(node.body, _Values(frozenset(), values))
            case ast.If():
                if not (_validates(node) or _asks_presence(node.test)):
                    self._add(node, "if", [node.test], values)
                if not _validates(node):
                    self._block(node.body, values)
                self._block(node.orelse, values)
            case ast.For() | ast.AsyncFor():
                index = self._add(node, "for", [node.iter], values)
                values.bind(node.target, ast.Call(ast.Name("item", ast.Load()), [node.iter], []), index)
                self._block([*node.body, *node.orelse], values)
            case ast.While():
                self._add(node, "while", [node.test], values)
                self._block([*node.body, *node.orelse], values)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    index = self._add(node, None, [item.context_expr], values)
                    if item.optional_vars is not None:
                        values.bind(item.optional_vars, item.context_expr, index)
                self._block(node.body, values)
            case ast.Try():
                handlers = [s for handler in node.handlers for s in handler.body]
                self._block([*node.body, *handlers, *node.orelse, *node.finalbody], values)
            case ast.Match():
                self._add(node, "if", [node.subject], values)
                for case in node.cases:
                    self._block(case.body, values)
            case ast.Assign():
                stored = [t for t in node.targets if isinstance(t, ast.Subscript)]
                index = self._add(node, "store" if stored else None, [node.value, *(t.slice for t in stored)], values)
                for target in node.targets:
                    values.bind(target, node.value, index)
            case ast.AnnAssign(value=ast.expr() as value):
                values.bind(node.target, value, self._add(node, None, [value], values))
            case ast.AugAssign():
                value = ast.BinOp(_loaded(node.target), node.op, node.value)
                values.bind(node.target, value, self._add(node, None, [value], values))
            case ast.Return(value=ast.expr() as value):
                self._add(node, None, [value], values)
            case ast.Expr():
                if not _talks(node.value):
                    self._add(node, None, [node.value], values)
            case ast.Delete() | ast.Break() | ast.Continue() | _:
                pass

    def _add(self, node: ast.stmt, head: str | None, parts: Sequence[ast.expr], values: "_Values") -> int | None:
        """The index of the statement among those found, None where it computes nothing."""
        bag = _Bag(values, self._own, self._modules)
        for part in parts:
            bag.add(part)
        if not any(name[0] in "cn" for name in bag.features):
            # A loop over something, a condition on something: too little to tell by.
            return None
        if head is not None:
            bag.head(head, parts)
        line = self._before + node.lineno
        end = self._before + (node.end_lineno or node.lineno)
        body = getattr(node, "body", None)
        if isinstance(body, list) and body:
            end = max(line, min(end, self._before + body[0].lineno - 1))
        text = " ".join(part.strip() for part in self._lines[line - 1 : end])
        self._found.append(Statement(line, text, bag.features, tuple(sorted(bag.sources))))
        return len(self._found) - 1


class _Values:
    """What the variables of a function were last given, read from top to bottom; those around it lend theirs."""

    def __init__(self, parameters: frozenset[str], outer: "_Values | None" = None) -> None:
        self._given: dict[str, tuple[ast.expr, int | None] | None] = dict.fromkeys(parameters)
        self._outer = outer

    def bind(self, target: ast.expr, value: ast.expr, index: int | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            exact = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
            for i, element in enumerate(target.elts):
                inner = value.elts[i] if exact and isinstance(value, (ast.Tuple, ast.List)) else value
                self.bind(element, inner, index)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value, index)
        elif (name := variable(target)) is not None:
            self._given[name] = (value, index)

    def known(self, name: str) -> bool:
        return name in self._given or (self._outer is not None and self._outer.known(name))

    def value(self, name: str) -> tuple[ast.expr, int | None] | None:
        if name in self._given:
            return self._given[name]
        return self._outer.value(name) if self._outer is not None else None


class _Bag:
    """Collects the features of expressions."""

    def __init__(self, values: _Values, own: Mapping[str, _Function | ast.ClassDef], modules: frozenset[str]) -> None:
        self.features: Counter[str] = Counter()
        self.sources: set[int] = set()
        self._values = values
        self._own = own
        self._modules = modules

    def add(self, node: ast.expr) -> None:
        label, children = self._split(_bare(node))
        if label in ("v", "seq"):
            for _, child in children:
                self.add(child)
            return
        self.features[_kind(label) + label] += 1
        for slot, child in children:
            self._operand(label, slot, child)
            self.add(child)

    def head(self, label: str, parts: Sequence[ast.expr]) -> None:
        """A compound statement or a store around expressions that were added."""
        self.features["n" + label] += 1
        self._operand(label, "", parts[0])

    def _operand(self, label: str, slot: str, child: ast.expr) -> None:
        self.features[f"e{label}|{slot}"] += 1
        self.features[f"f{label}|{slot}|{self._label(child, _DEEPEST)}"] += 1

    def _label(self, node: ast.expr, depth: int) -> str:
        """What gives the value of an expression: its operation, that of the variable it is, or `v`."""
        node = _bare(node)
        name = variable(node)
        if name is not None:
            given = self._values.value(name)
            if given is None:
                return "v"
            if given[1] is not None:
                self.sources.add(given[1])
            if depth == 0 or isinstance(_bare(given[0]), (ast.Constant, ast.List, ast.Tuple, ast.Dict)):
                return "v"
            return self._label(given[0], depth - 1)
        return self._split(node)[0]

    def _split(self, node: ast.expr) -> tuple[str, list[tuple[str, ast.expr]]]:
        """An expression's operation and its operands, each with its slot where order matters."""
        match node:
            case ast.Constant(value=value):
                return _constant(value), []
            case ast.Call():
                return self._call(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(_BINARY[type(op)], left, right)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return _constant(-value), []
            case ast.UnaryOp(op=op, operand=operand):
                return _BINARY.get(type(op), "pos"), [("", operand)]
            case ast.BoolOp(op=op, values=values):
                return _BINARY[type(op)], [("", value) for value in values]
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                swapped = isinstance(op, (ast.Gt, ast.GtE))
                return self._binary(_BINARY[type(op)], *((right, left) if swapped else (left, right)))
            case ast.Compare(left=left, ops=ops, comparators=others):
                return _BINARY[type(ops[0])], [("", value) for value in (left, *others)]
            case ast.IfExp(test=test, body=body, orelse=orelse) if _asks_presence(test):
                return self._split(_bare(body if variable(orelse) else orelse))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return "if", [("", test), ("", body), ("", orelse)]
            case ast.Subscript(value=value, slice=index):
                if isinstance(index, ast.Constant) and isinstance(index.value, str):
                    return "v", []  # config["rate"]
                return "[]", [("L", value), *(("R", part) for part in _indices(index))]
            case ast.Slice(lower=lower, upper=upper, step=step):
                return ":", [(slot, part) for slot, part in (("L", lower), ("R", upper), ("S", step)) if part]
            case ast.Attribute(value=value, attr=attribute):
                if attribute in _ARRAY_PARTS:
                    return _OPERATORS.get(attribute, attribute), [("", value)]
                root = _root(value)
                if root is not None and root != "self" and not self._values.known(root):
                    return f"const {attribute}", []
                return "v", [] if variable(node) else [("", value)]
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                return "seq", [("", element) for element in elements]
            case ast.Dict(values=values):
                return "seq", [("", value) for value in values]
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return "for", [("B", node.elt), *self._generators(node.generators)]
            case ast.DictComp():
                return "for", [("B", node.value), *self._generators(node.generators)]
            case ast.Lambda(body=body):
                return "lambda", [("", body)]
            case ast.NamedExpr(value=value) | ast.Await(value=value) | ast.Starred(value=value):
                return self._split(_bare(value))
            case ast.JoinedStr():
                return "text", []
            case _:
                return "v", []

    def _generators(self, generators: Sequence[ast.comprehension]) -> Iterator[tuple[str, ast.expr]]:
        for generator in generators:
            yield "", generator.iter
            yield from (("I", condition) for condition in generator.ifs)

    def _binary(self, label: str, left: ast.expr, right: ast.expr) -> tuple[str, list[tuple[str, ast.expr]]]:
        if label in _ORDERED:
            return label, [("L", left), ("R", right)]
        return label, [("", left), ("", right)]

    def _call(self, node: ast.Call) -> tuple[str, list[tuple[str, ast.expr]]]:
        given = [*node.args, *(k.value for k in node.keywords if k.arg not in _ASIDE)]
        called = node.func
        if isinstance(called, ast.Attribute):
            name = called.attr
            root = _root(called.value)
            of_module = root is not None and (root in self._modules or not (root == "self" or self._values.known(root)))
            if isinstance(called.value, ast.Name) and called.value.id in ("self", "cls"):
                return self._own_call(name), [("", value) for value in given]
            if not of_module:
                given.insert(0, called.value)
        elif isinstance(called, ast.Name):
            name = called.id
            if name in self._own or self._values.known(name):
                return self._own_call(name), [("", value) for value in given]
        else:
            label, _ = self._split(_bare(called))
            return f"{label}()", [("", called), *(("", value) for value in given)]
        operator = _OPERATORS.get(name)
        if operator is None:
            return f"call {name.casefold()}", [("", value) for value in given]
        if name == "square":
            given.append(ast.Constant(2))
        if operator in _ORDERED and len(given) == 2:
            return operator, [("L", given[0]), ("R", given[1])]
        if operator == "T":
            given = given[:1]  # which axes is a matter of layout
        if operator == "shape" and len(given) == 2:  # x.size(0) is x.shape[0]
            return "[]", [("L", ast.Attribute(given[0], "shape", ast.Load())), ("R", given[1])]
        return operator, [("", value) for value in given]

    def _own_call(self, _name: str) -> str:
        """A function of the program itself, or one that it was given: its name says nothing."""
        return "own()"


def variable(node: ast.expr) -> str | None:
    """The name under which a value is kept: `x`, `self.x` and `config.model.x` are all `x`; None for what is none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and node.attr not in _ARRAY_PARTS and _root(node.value) in ("self", "cls"):
        return node.attr.lstrip("_")
    return None


def _bare(node: ast.expr) -> ast.expr:
    """Without calls that only change type, device or layout."""
    while True:
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=attribute), args=args) if attribute in _TRANSPARENT:
                by_module = attribute in ("asarray", "as_tensor", "tensor", "array", "from_numpy", "device_put")
                if by_module and args:
                    node = args[0]
                elif not by_module and isinstance(value, ast.expr):
                    node = value
                else:
                    return node
            case ast.Call(func=ast.Name(id="float" | "int"), args=[inner]) | ast.Attribute(value=inner, attr="data"):
                node = inner
            case ast.UnaryOp(op=ast.UAdd(), operand=inner) | ast.Starred(value=inner):
                node = inner
            case _:
                return node


def _kind(label: str) -> str:
    return "c" if label.startswith("call ") else "k" if label[0] in "#'" else "n"


def _constant(value: object) -> str:
    if isinstance(value, (bool, type(None), type(...))):
        return f"'{value}"
    if isinstance(value, (int, float)):
        try:
            return f"#{float(value):.6g}"
        except OverflowError:
            return "#large"
    return f"'{value[:24]!r}" if isinstance(value, (str, bytes)) else f"'{value}"


def _indices(index: ast.expr) -> list[ast.expr]:
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _loaded(node: ast.expr) -> ast.expr:
    """A target as what it held before."""
    return node


def _parameters(arguments: ast.arguments) -> frozenset[str]:
    given = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    return frozenset(a.arg for a in given if a is not None) - {"self", "cls"}


def _imported(tree: ast.Module) -> frozenset[str]:
    aliases = (a for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names)
    return frozenset((alias.asname or alias.name).partition(".")[0] for alias in aliases)


def _validates(node: ast.If) -> bool:
    """Whether a condition only guards against bad input."""
    return not node.orelse and all(isinstance(s, (ast.Raise, ast.Assert, ast.Pass)) or _says(s) for s in node.body)


def _says(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and _talks(node.value)


def _asks_presence(test: ast.expr) -> bool:
    """`x is None`, `isinstance(x, …)`, `hasattr(…)`: how a place differs from another, not what is computed."""
    match test:
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return True
        case ast.Call(func=ast.Name(id="isinstance" | "hasattr" | "callable")):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _asks_presence(operand)
        case _:
            return False


def _talks(node: ast.expr) -> bool:
    """A docstring, a message, a seed, the construction of a base class."""
    if isinstance(node, ast.Constant):
        return True
    if not isinstance(node, ast.Call):
        return False
    match node.func:
        case ast.Name(id=name):
            return name in ("print", "warn", "seed_everything", "set_seed")
        case ast.Attribute(attr="__init__"):
            return True
        case ast.Attribute(value=value, attr=attribute):
            return attribute in _TALK or (_root(value) or "").strip("_").casefold() in _TALKERS
        case _:
            return False
