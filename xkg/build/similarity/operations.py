"""Labels the operations in expressions, independently of the library and the variable names."""

import ast
from collections import Counter
from collections.abc import Collection

Function = ast.FunctionDef | ast.AsyncFunctionDef

# These calls only change a value's type, device or memory layout.
_TRANSPARENT = frozenset(
    "to cuda cpu contiguous float double half long int numpy item type astype asarray as_tensor tensor array from_numpy"
    " asnumpy device_put block_until_ready copy clone".split()
)
_ASIDE = frozenset("device dtype requires_grad out name verbose desc".split())
_SYNONYMS = {
    **dict.fromkeys(("add", "__add__"), "+"),
    **dict.fromkeys(("sub", "subtract"), "-"),
    **dict.fromkeys(("mul", "multiply"), "*"),
    **dict.fromkeys(("div", "divide", "true_divide"), "/"),
    **dict.fromkeys(("pow", "power", "square"), "**"),
    **dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot"), "@"),
    **dict.fromkeys(("neg", "negative"), "neg"),
    **dict.fromkeys(("transpose", "permute", "t", "swapaxes", "mT", "H", "T"), "T"),
    **dict.fromkeys(("reshape", "view"), "reshape"),
    **dict.fromkeys(("concatenate", "concat", "cat"), "cat"),
    **dict.fromkeys(("abs", "absolute"), "abs"),
    **dict.fromkeys(("shape", "size"), "shape"),
}
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "/",  # integer `/` in Python 2
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.Gt: "<",
    ast.GtE: "<=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.USub: "neg",
}
_ARRAY_PARTS = frozenset("shape T mT H grad ndim real imag size".split())
_OWN = "o()"
_LARGE = 1e18


def operations(node: ast.AST, own: Collection[str]) -> Counter[str]:
    """Counts the operations in an expression or statement header, keyed by label.

    A label starts with `c` for a call and contains the call's last name. `o` is a call to one of the `own` names, which
    are arbitrary. `n` is any other operation. `p` is a pair of operations, one of which computes an operand of the
    other. `k` is a constant."""
    found: Counter[str] = Counter()
    stack: list[tuple[str, ast.AST]] = [("", node)]
    while stack:
        above, each = stack.pop()
        label, operands = _split(each, own)
        if label:
            found[label] += 1
            if above and label[0] != "k":
                found[f"p{above} {label}"] += 1
        stack += [(label if label and label[0] != "k" else above, operand) for operand in operands]
    return found


def _split(node: ast.AST, own: Collection[str]) -> tuple[str, list[ast.AST]]:
    """Returns an operation's label (empty if the node computes nothing) and operands."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return f"k{value:.6g}" if abs(value) < _LARGE else "klarge", []
        case ast.Call(func=ast.Attribute(value=owner, attr=name)):
            values = _operands(node)
            is_object = isinstance(owner, ast.Name) and owner.id in ("self", "cls")
            if name in _TRANSPARENT:
                return "", [owner, *values[:1]]
            return _OWN if name in own or is_object else _called(name), [owner, *values]
        case ast.Call(func=ast.Name(id=name)):
            if name in ("float", "int"):
                return "", _operands(node)
            return _OWN if name in own else _called(name), _operands(node)
        case ast.Call(func=called):
            return _OWN, [called, *_operands(node)]
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.BoolOp(op=op):
            return f"n{_OPERATORS.get(type(op), type(op).__name__)}", _children(node)
        case ast.Compare(ops=[op, *_]):
            return f"n{_OPERATORS.get(type(op), type(op).__name__)}", _children(node)
        case ast.Subscript(slice=ast.Constant(value=str())):
            return "", []  # config["rate"]
        case ast.Subscript():
            return "n[]", _children(node)
        case ast.Attribute(value=value, attr=name) if name in _ARRAY_PARTS:
            return f"n{_SYNONYMS.get(name, name)}", [value]
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return "nfor", _children(node)
        case ast.IfExp():
            return "nif", _children(node)
        case _:
            return "", _children(node)


def _called(name: str) -> str:
    return f"n{_SYNONYMS[name]}" if name in _SYNONYMS else f"c{name.casefold()}"


def _operands(call: ast.Call) -> list[ast.AST]:
    return [*call.args, *(k.value for k in call.keywords if k.arg not in _ASIDE)]


def _children(node: ast.AST) -> list[ast.AST]:
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr | ast.comprehension)]
