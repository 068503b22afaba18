"""The features of expressions: operations, and operations with one of their operands.

A variable counts as the operation that gave it its value. Calls that only change type, device or layout are ignored."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

Function = ast.FunctionDef | ast.AsyncFunctionDef

# Calls that only change a value's type, device or memory layout.
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
_DEEPEST = 3


class Values:
    """The last value of each variable of a function, from top to bottom. Enclosing scopes supply other variables."""

    def __init__(self, parameters: frozenset[str], outer: "Values | None" = None) -> None:
        self._bindings: dict[str, tuple[ast.expr, int | None] | None] = dict.fromkeys(parameters)
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
            self._bindings[name] = (value, index)

    def is_bound(self, name: str) -> bool:
        return name in self._bindings or (self._outer is not None and self._outer.is_bound(name))

    def value(self, name: str) -> tuple[ast.expr, int | None] | None:
        if name in self._bindings:
            return self._bindings[name]
        return self._outer.value(name) if self._outer is not None else None


class FeatureBag:
    """Collects the features of expressions."""

    def __init__(
        self,
        values: Values,
        own: Mapping[str, Function | ast.ClassDef],
        modules: frozenset[str],
        callables: frozenset[str] = frozenset(),
    ) -> None:
        self.features: Counter[str] = Counter()
        self.sources: set[int] = set()
        self._values = values
        self._own = own
        self._modules = modules
        self._callables = callables

    def add(self, node: ast.expr) -> None:
        label, children = self._split(bare(node))
        if label in ("v", "seq"):
            for _, child in children:
                self.add(child)
            return
        self.features[_kind(label) + label] += 1
        for slot, child in children:
            self._operand(label, slot, child)
            self.add(child)

    def head(self, label: str, parts: Sequence[ast.expr]) -> None:
        """Adds the feature of the compound statement or store that contains the expressions added before."""
        self.features["n" + label] += 1
        self._operand(label, "", parts[0])

    def _operand(self, label: str, slot: str, child: ast.expr) -> None:
        self.features[f"e{label}|{slot}"] += 1
        self.features[f"f{label}|{slot}|{self._label(child, _DEEPEST)}"] += 1

    def _label(self, node: ast.expr, depth: int) -> str:
        """The operation that produces the value of an expression; a variable is looked up. `v` if unknown."""
        node = bare(node)
        name = variable(node)
        if name is not None:
            binding = self._values.value(name)
            if binding is None:
                return "v"
            if binding[1] is not None:
                self.sources.add(binding[1])
            if depth == 0 or isinstance(bare(binding[0]), (ast.Constant, ast.List, ast.Tuple, ast.Dict)):
                return "v"
            return self._label(binding[0], depth - 1)
        return self._split(node)[0]

    def _split(self, node: ast.expr) -> tuple[str, list[tuple[str, ast.expr]]]:
        """An expression's operation and operands; each operand has its slot if their order matters."""
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
            case ast.IfExp(test=test, body=body, orelse=orelse) if tests_presence(test):
                return self._split(bare(body if variable(orelse) else orelse))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return "if", [("", test), ("", body), ("", orelse)]
            case ast.Subscript(value=value, slice=index):
                if isinstance(index, ast.Constant) and isinstance(index.value, str):
                    return "v", []  # config["rate"]
                return "[]", [
                    ("L", value),
                    *(("R", p) for p in (index.elts if isinstance(index, ast.Tuple) else [index])),
                ]
            case ast.Slice(lower=lower, upper=upper, step=step):
                return ":", [(slot, part) for slot, part in (("L", lower), ("R", upper), ("S", step)) if part]
            case ast.Attribute(value=value, attr=attribute):
                if attribute in _ARRAY_PARTS:
                    return _OPERATORS.get(attribute, attribute), [("", value)]
                module = root_name(value)
                if module is not None and module != "self" and not self._values.is_bound(module):
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
                return self._split(bare(value))
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
        operands = [*node.args, *(k.value for k in node.keywords if k.arg not in _ASIDE)]
        callee = node.func
        if isinstance(callee, ast.Attribute):
            name = callee.attr
            module = root_name(callee.value)
            of_module = module is not None and (
                module in self._modules or not (module == "self" or self._values.is_bound(module))
            )
            is_value = name in self._callables and module not in self._modules
            if is_value or (isinstance(callee.value, ast.Name) and callee.value.id in ("self", "cls")):
                return "own()", [("", value) for value in operands]
            if not of_module:
                operands.insert(0, callee.value)
        elif isinstance(callee, ast.Name):
            name = callee.id
            if name in self._own or self._values.is_bound(name):
                return "own()", [("", value) for value in operands]  # the program's own names are arbitrary
        else:
            label, _ = self._split(bare(callee))
            return f"{label}()", [("", callee), *(("", value) for value in operands)]
        operator = _OPERATORS.get(name)
        if operator is None:
            return f"call {name.casefold()}", [("", value) for value in operands]
        if name == "square":
            operands.append(ast.Constant(2))
        if operator in _ORDERED and len(operands) == 2:
            return operator, [("L", operands[0]), ("R", operands[1])]
        if operator == "T":
            operands = operands[:1]  # the axes are layout
        if operator == "shape" and len(operands) == 2:  # x.size(0) is x.shape[0]
            return "[]", [("L", ast.Attribute(operands[0], "shape", ast.Load())), ("R", operands[1])]
        return operator, [("", value) for value in operands]


def variable(node: ast.expr) -> str | None:
    """The name of a variable: `x` for `x`, `self.x` and `self.model.x`; None for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and node.attr not in _ARRAY_PARTS and root_name(node.value) in ("self", "cls"):
        return node.attr.lstrip("_")
    return None


def bare(node: ast.expr) -> ast.expr:
    """The expression without calls that only change type, device or layout."""
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


def root_name(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def tests_presence(test: ast.expr) -> bool:
    """Whether a test such as `x is None`, `isinstance(x, …)` or `hasattr(…)` computes nothing."""
    match test:
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return True
        case ast.Call(func=ast.Name(id="isinstance" | "hasattr" | "callable")):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return tests_presence(operand)
        case _:
            return False
