"""Finds seeds in the code, its configuration or the command, and explains why some cannot be varied.

Runs with a fixed seed give the same result each time. Only runs with different seeds reveal how much the method depends
on chance."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from xkg.agents.ablation.candidates import COMMAND, Place, Replacement
from xkg.agents.ablation.space.exclusions import is_one_seed, is_seed, named_by
from xkg.agents.ablation.space.python_source import Function, PythonSource, defaults_of, last_name
from xkg.agents.ablation.space.switches import file_switches, parameters_of
from xkg.agents.ablation.task import SEED
from xkg.build.code.settings import Setting
from xkg.build.code.test_files import is_test_file
from xkg.value import Value

_STEP = 1000
_GENERATORS = frozenset(
    "Random RandomState default_rng SeedSequence PRNGKey PCG64 PCG64DXSM MT19937 Philox SFC64".split()
)
_SEEDED_BY_THEMSELVES = frozenset({"xgboost", "lightgbm", "catboost"})


class Seed(Value):
    """A seed in the code. The seed is an integer or, if `added` is set, an expression to which runs add a number."""

    place: Place
    at: Replacement
    added: bool = False

    def other(self, number: int) -> Replacement:
        """Returns the change that sets the seed for run `number`. Run 0 uses the original seed."""
        step = _STEP * number
        new = f"({self.at.old}) + {step}" if self.added else str(int(self.at.old) + step)
        return self.at.model_copy(update={"new": new})


class FixedSeed(Value):
    """Code whose seed cannot be varied, with the reason."""

    place: Place
    why: str


class Seeds(Value):
    """The seeds found in code. Seeds in `found` can be varied, and seeds in `fixed` cannot."""

    found: tuple[Seed, ...] = ()
    fixed: tuple[FixedSeed, ...] = ()


def find_seeds(
    sources: Sequence[PythonSource], settings: Sequence[Setting], texts: Mapping[str, str], command: str
) -> Seeds:
    """Finds integers that are passed to a random number generator or assigned to a seed variable."""
    sources = [s for s in sources if named_by(s.path, command) or not is_test_file(s.path)]
    parameters = parameters_of(sources)
    handed = {name for source in sources for name in _handed(source)}
    found, resolved = [], set[str]()
    for source in sources:
        own, looped = handed.union(_passed(source)), _looped(source.tree)
        for name, value in _given(source, parameters):
            if is_one_seed(name) and isinstance(value, ast.Name) and value.id in looped:
                found.append(Seed(place=source.place(value), at=source.replaced(value, ""), added=True))
            listed = isinstance(value, ast.List | ast.Tuple)
            if name in own or (is_seed(name) if listed else is_one_seed(name)):
                numbers = list(_numbers(value))
                found += [Seed(place=source.place(each), at=source.replaced(each, "")) for each in numbers]
                resolved |= {name} if numbers else set()
    for switch in file_switches(settings, texts):
        key = switch.name.rpartition(".")[2]
        if (is_one_seed(key) or f".{key}" in handed) and type(switch.value) is int:
            found.append(Seed(place=switch.place, at=switch.at))
            resolved.add(f".{key}")
    found += _in_command(command)
    varied = bool(found) or SEED in command
    fixed = []
    for source in sources:
        looped = _looped(source.tree)
        for call in _seeding(source):
            names = set(_names(call.args[0])) if call.args else set()
            if names & looped:
                found.append(Seed(place=source.place(call.args[0]), at=source.replaced(call.args[0], ""), added=True))
            elif names and not (names & resolved or (varied and any(map(is_seed, names)))):
                code = " ".join(source.code(call).split())[:60]
                fixed.append(FixedSeed(place=source.place(call), why=f"the source of the seed for {code} is unknown"))
        fixed += [
            FixedSeed(place=source.place(node), why=f"{name} has its own fixed seed")
            for name, node in _imported(source.tree)
        ]
    unique = {(seed.at.path, seed.at.start): seed for seed in found}
    return Seeds(found=tuple(unique.values()), fixed=tuple(fixed))


def _is_seeding(call: ast.Call) -> bool:
    name = last_name(call.func)
    chain = ast.unparse(call.func) if isinstance(call.func, ast.Attribute) else name
    return name in _GENERATORS or is_seed(name) or (name == "key" and "random" in chain)


def _seeding(source: PythonSource) -> Iterator[ast.Call]:
    return (node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _is_seeding(node))


def _names(node: ast.expr) -> Iterator[str]:
    for child in ast.walk(node):
        match child:
            case ast.Name(id=name):
                yield name
            case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
                yield f".{name}"


def _passed(source: PythonSource) -> Iterator[str]:
    looped = _looped(source.tree)
    for call in _seeding(source):
        if call.args and isinstance(call.args[0], ast.Name) and call.args[0].id not in looped:
            yield call.args[0].id


def _handed(source: PythonSource) -> Iterator[str]:
    """Yields the attributes and keys, with a leading dot, that a file passes to a random number generator."""
    for call in _seeding(source):
        if call.args and isinstance(call.args[0], ast.Attribute | ast.Subscript):
            yield next((name for name in _names(call.args[0]) if name.startswith(".")), "")


def _looped(tree: ast.Module) -> set[str]:
    return {
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.For | ast.comprehension)
        for name in ast.walk(node.target)
        if isinstance(name, ast.Name)
    }


def _given(source: PythonSource, parameters: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ast.expr]]:
    """Yields names with the values assigned to them. Attributes, keys and options have a leading dot."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            called = last_name(node.func)
            if called == "add_argument":
                flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
                for keyword in node.keywords:
                    if keyword.arg == "default" and flags:
                        yield f".{max(flags, key=len).lstrip('-').replace('-', '_')}", keyword.value
                continue
            if _is_seeding(node) and node.args:
                yield "seed", node.args[0]
            yield from zip(parameters.get(called, ()), node.args, strict=False)
            yield from ((keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg)
        elif isinstance(node, Function):
            yield from ((argument.arg, default) for argument, default in defaults_of(node))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from ((name, node.value) for name in list(_names(target))[:1])
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield f".{key.value}", value


def _numbers(node: ast.expr) -> Iterator[ast.Constant]:
    for each in node.elts if isinstance(node, ast.List | ast.Tuple) else [node]:
        if isinstance(each, ast.Constant) and type(each.value) is int:
            yield each


def _in_command(command: str) -> Iterator[Seed]:
    for match in re.finditer(r"(?<!\S)-{0,2}([A-Za-z][\w.-]{0,80})[= ] ?(\d{1,10})(?!\S)", command):
        if is_one_seed(match[1].rpartition(".")[2]):
            at = Replacement(path=COMMAND, start=match.start(2), end=match.end(2), old=match[2], new="")
            yield Seed(place=Place(path=COMMAND, start_line=1, end_line=1), at=at)


def _imported(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for node in ast.walk(tree):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        modules += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        for module in {module.partition(".")[0] for module in modules} & _SEEDED_BY_THEMSELVES:
            assert isinstance(node, ast.stmt)
            yield module, node
