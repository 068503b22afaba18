"""Creates example scripts for code nodes."""

import ast

from xkg.model import Code
from xkg.sandbox.evidence.python_ast import syntax_tree
from xkg.serve.answers.quoting import one_line

_MOST_NAMES = 12


def example(code: Code, name: str) -> str:
    """Returns the code's test, which shows how to call it. If there is no test, returns a call to the last public
    function or class with `...` for required arguments."""
    head = [f"# {one_line(name)}: the code's names are already defined, as if by `from implementation import *`."]
    if code.test.strip():
        return "\n".join([*head, "# This is its stored test.", code.test.strip(), ""])
    defined = [
        node
        for node in syntax_tree(code.implementation).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]
    if not defined:
        return "\n".join([*head, "# It does not define any functions or classes:", "sorted(vars(implementation))", ""])
    head += [f"#   {_signature(node)}" for node in defined[-_MOST_NAMES:]]
    call = _call(defined[-1])
    head += ["# Replace `...` with values."] if "..." in call else []
    return "\n".join([*head, call, ""])


def _signature(node: ast.FunctionDef | ast.ClassDef) -> str:
    arguments = _arguments(node)
    kind = "class " if isinstance(node, ast.ClassDef) else ""
    return f"{kind}{node.name}({'' if arguments is None else ast.unparse(arguments)})"


def _call(node: ast.FunctionDef | ast.ClassDef) -> str:
    arguments = _arguments(node)
    if arguments is None:
        return f"{node.name}()"
    positional = [*arguments.posonlyargs, *arguments.args]
    needed = [f"{each.arg}=..." for each in positional[: len(positional) - len(arguments.defaults)]]
    needed = ["..." if number < len(arguments.posonlyargs) else each for number, each in enumerate(needed)]
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    needed += [f"{each.arg}=..." for each, default in keywords if default is None]
    return f"{node.name}({', '.join(needed)})"


def _arguments(node: ast.FunctionDef | ast.ClassDef) -> ast.arguments | None:
    """Returns the arguments of a function or constructor without `self`, or None if the class has no `__init__`."""
    if isinstance(node, ast.FunctionDef):
        return node.args
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            first = "posonlyargs" if each.args.posonlyargs else "args"
            return ast.arguments(**{**dict(ast.iter_fields(each.args)), first: getattr(each.args, first)[1:]})
    return None
