"""Slices repositories that are given as texts."""

import ast
from typing import Any

from pyflakes import checker, messages

from tests.build.codebases import codebase_of, symbol
from xkg.build.slicing.slice import slice_symbols


def sliced(files: dict[str, str], *symbols: str, **options: int) -> Any:
    return slice_symbols(codebase_of(files), [symbol(each) for each in symbols], **options)


def undefined(source: str) -> list[str]:
    found = checker.Checker(ast.parse(source), "sliced.py").messages
    return [str(m.message % m.message_args) for m in found if isinstance(m, messages.UndefinedName)]
