"""Runs variants of a test and prints digests of the implementation's return values. `guest.run_test` runs this module
inside the sandbox instead of the test, in the implementation's namespace. `xkg.sandbox.evidence.equivalence` appends
the call.

Each variant runs in a copy of the namespace, statement by statement. An error ends only the statement that raised it.
Finally, one line of JSON is printed. For each call, `calls` contains digests of the result and of the arguments after
the call. Each entry also says whether the call raised an exception, and contains the index of the executed lines in
`line_sets`. The line sets are empty if lines are not traced."""

from typing import Any


def _xkg_observe(statements: list[str], tables: list[list[float]], following: bool) -> None:
    import contextlib
    import hashlib
    import json
    import random
    import sys

    module = sys.modules["implementation"]
    calls: list[list[Any]] = []
    line_sets: dict[tuple[int, ...], int] = {}
    open_calls: list[set[int]] = []
    most_calls, most_items, deepest = 2000, 2000, 6
    rest = hashlib.sha256()

    def each_line(frame: Any, event: str, _: object) -> Any:
        if event == "line":
            for lines in open_calls:
                lines.add(frame.f_lineno)
        return each_line

    def enter(frame: Any, _event: str, _: object) -> Any:
        return each_line if frame.f_code.co_filename == module.__file__ else None

    def is_own(function: object) -> bool:
        owners = (function, type(function), type(getattr(function, "__self__", None)))
        return any(getattr(owner, "__module__", None) == "implementation" for owner in owners)

    def number(value: float, digits: int) -> str:
        return "0" if value == 0 else format(value, f".{digits}e")

    def shape_of(value: Any, depth: int = 0) -> str:
        """Returns text that is the same for equal values. Floats are rounded to 9 digits, or to 6 in single
        precision."""
        if value is None or isinstance(value, (bool, int, str, bytes)):
            return repr(value)
        if isinstance(value, float):
            return number(value, 9)
        if isinstance(value, complex):
            return f"{number(value.real, 9)},{number(value.imag, 9)}"
        if depth > deepest:
            return "…"
        if isinstance(value, dict):
            pairs = [(shape_of(k, depth + 1), shape_of(v, depth + 1)) for k, v in list(value.items())[:most_items]]
            return f"{len(value)}{sorted(pairs)}"
        if isinstance(value, (set, frozenset)):
            return f"{len(value)}{sorted(shape_of(v, depth + 1) for v in list(value)[:most_items])}"
        if isinstance(value, (list, tuple)):
            return f"{len(value)}{[shape_of(v, depth + 1) for v in value[:most_items]]}"
        with contextlib.suppress(Exception):
            return array(value)
        own = getattr(value, "__dict__", None)
        return f"{type(value).__name__}{shape_of(own, depth + 1) if isinstance(own, dict) else ''}"

    def array(value: Any) -> str:
        import numpy

        if hasattr(value, "detach"):
            value = value.detach().cpu()
        if not hasattr(value, "__array__"):
            raise TypeError
        items = numpy.asarray(value)
        if items.dtype.kind not in "fc":
            return f"{items.shape}{items.dtype.kind}{items.ravel()[:most_items].tolist()}"
        digits = 9 if items.dtype.itemsize >= (8 if items.dtype.kind == "f" else 16) else 6
        parts = numpy.stack([items.real, items.imag]).astype(float).ravel()[:most_items].tolist()
        return f"{items.shape}{[number(part, digits) for part in parts]}"

    def digest(value: Any) -> str:
        try:
            text = shape_of(value)
        except Exception as error:
            text = type(error).__name__
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    def note(result: str, changed: str, raised: bool, lines: set[int]) -> None:
        if len(calls) < most_calls:
            at = line_sets.setdefault(tuple(sorted(lines)), len(line_sets))
            calls.append([result, changed, int(raised), at])
        else:
            rest.update(f"{result}{changed}".encode())

    def call(function: Any, *arguments: Any, **named: Any) -> Any:
        name = getattr(function, "__name__", "")
        if isinstance(name, str) and "assert" in name.casefold():
            return None
        if not is_own(function):
            return function(*arguments, **named)
        lines: set[int] = set()
        open_calls.append(lines)
        if following:
            sys.settrace(enter)
        try:
            result = function(*arguments, **named)
        except Exception as error:
            note(type(error).__name__, "", True, lines)
            raise
        finally:
            open_calls.pop()
            if following and not open_calls:
                sys.settrace(None)
        note(digest(result), digest((arguments, named, getattr(function, "__self__", None))), False, lines)
        return result

    def seed_all(seed: int) -> None:
        random.seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed)
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(seed)

    with contextlib.suppress(Exception):
        if "jax" in sys.modules:  # a compiled function would run its lines only once
            sys.modules["jax"].config.update("jax_disable_jit", True)
    programs = [compile(source, "test.py", "exec", dont_inherit=True) for source in statements]
    for seed, table in enumerate(tables):
        seed_all(seed)
        space = dict(vars(module))
        space["_xkg_number"] = table.__getitem__
        space["_xkg_call"] = call
        space["_xkg_swallow"] = lambda: contextlib.suppress(Exception)
        for program in programs:
            with contextlib.suppress(Exception):
                exec(program, space)
    ordered = sorted(line_sets, key=line_sets.__getitem__)
    print()
    print("xkg: observed", json.dumps({"calls": calls, "rest": rest.hexdigest(), "line_sets": ordered}))
