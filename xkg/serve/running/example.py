"""Example scripts for code nodes."""

import ast

from xkg.model import Code
from xkg.sandbox.evidence.python_ast import syntax_tree
from xkg.serve.answers.quoting import one_line

_MOST_NAMES = 12


def example(code: Code, name: str) -> str:
    """Returns the code's test, which shows how to call it. If there is no test, returns the signatures of the public
    functions and classes, and a call to the last one with `...` for its arguments."""
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
    signatures = [f"#   {node.name}({_arguments(node)})" for node in defined[-_MOST_NAMES:]]
    call = f"{defined[-1].name}({'...' if _arguments(defined[-1]) else ''})"
    hint = ["# Replace `...` with values."] if "..." in call else []
    return "\n".join([*head, *signatures, *hint, call, ""])


def _arguments(node: ast.FunctionDef | ast.ClassDef) -> str:
    """Returns the arguments of a function or constructor, without `self`."""
    if isinstance(node, ast.FunctionDef):
        return ast.unparse(node.args)
    made = (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    return "".join(ast.unparse(each.args).partition(", ")[2] for each in made)
