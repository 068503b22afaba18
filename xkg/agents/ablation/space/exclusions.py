"""Identifies code to exclude from ablation: values that are not part of a method, and code that computes the metric."""

import ast
from collections.abc import Iterator, Sequence, Set
from types import UnionType

from xkg.agents.ablation.candidates import Place
from xkg.agents.ablation.space.python_source import (
    Function,
    PythonSource,
    draws,
    last_name,
    names_in,
    words_of,
)  # fmt: skip
from xkg.agents.workspace.program.evaluation import is_measure, literal, measuring
from xkg.agents.workspace.program.metric import Metric

LENGTH = "the length of training"
TASK = "the task that the method is tested on"
SPLIT = "train_test_split"
_BESIDE = frozenset(
    "matplotlib seaborn plotly bokeh logging json os sys pickle csv pathlib argparse tqdm time wandb tensorboard"
    " progressbar terminaltables rich shutil subprocess click typer absl fire".split()
)
_LENGTHS = frozenset(  # for training loops inside libraries; the repository's own loops are recognised by their bodies
    "epochs epoch steps iterations iteration iter iters niter rounds round episodes episode experiments experiment"
    " generations generation repeats repetitions trials trial".split()
)
_MACHINE = frozenset("device cuda gpu gpus cpu workers jobs threads port host pin jit cache cached".split())
_TASKS = frozenset("function fn func problem objective benchmark dataset data env task fitness".split())
_METRIC = frozenset(
    "evaluate evaluation eval metric metrics score scores test validate accuracy acc mse rmse mae error auc f1"
    " precision recall r2 loss_fn fitness objective cost".split()
)
_TRAINS = frozenset("train training fit learn optimize optimise step update run main loop epoch".split())
_LEARNS = frozenset("act choose learn train fit optimize optimise".split())
_PREDICTS = _TRAINS | frozenset("predict predictions prediction forward sample generate transform infer".split())


def reason(name: str) -> str | None:
    """Returns a short reason for leaving out a value with this name, or None if the value may be part of a method."""
    if is_seed(name):
        return "the random seed"
    if not _LENGTHS.isdisjoint(words_of(name)):
        return LENGTH
    return None if _MACHINE.isdisjoint(words_of(name)) else "the machine that the code runs on"


def is_seed(name: str) -> bool:
    """Returns whether a name suggests that its value is a seed or a list of seeds."""
    return is_one_seed(name) or "seeds" in words_of(name)


def is_one_seed(name: str) -> bool:
    """Returns whether a name suggests that a number is a seed. For example, `N_SEEDS = 5` is not a seed."""
    words = words_of(name)
    return "seed" in words or words[-2:] == ["random", "state"]


def names_task(name: str) -> bool:
    """Returns whether a setting's name, such as `dataset`, suggests that its value selects the task."""
    return not _TASKS.isdisjoint(words_of(name))


def environments(sources: Sequence[PythonSource]) -> tuple[set[str], list[Place]]:
    """Returns the names and places of the classes and functions that test a method: agent environments and search
    objectives. An environment is recognised by its name, or by `step` and `reset` methods if no method learns. A search
    objective is a function of one value that is passed to other code, draws no random numbers and stores nothing."""
    names, places = set(), []
    called = {id(node.func) for source in sources for node in ast.walk(source.tree) if isinstance(node, ast.Call)}
    passed_on = {
        node.id
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in called
    }
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, Function) and node.name in passed_on and _is_objective(node):
                names.add(node.name)
                places.append(source.place(node))
            if isinstance(node, ast.ClassDef):
                methods = {f.name for f in node.body if isinstance(f, Function)}
                words = {word for name in (node.name, *map(last_name, node.bases)) for word in words_of(name)}
                steps = {"step", "reset"} <= methods and not any(_LEARNS & set(words_of(m)) for m in methods)
                if steps or words & {"env", "environment", "problem"}:
                    names.add(node.name)
                    places.append(source.place(node))
    return names, places


def _is_objective(function: Function) -> bool:
    arguments = function.args
    required = len(arguments.args) - len(arguments.defaults)
    stores = any(isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) for n in ast.walk(function))
    returns = any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(function))
    return required == 1 and returns and not stores and not any(map(draws, ast.walk(function)))


def beside_the_method(tree: ast.Module) -> set[str]:
    """Returns the names that a file imports from display, logging, file or data libraries."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {a.asname or a.name.partition(".")[0] for a in node.names if _is_beside(a.name)}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {a.asname or a.name for a in node.names if _is_beside(f"{node.module}.{a.name}")}
    return names


def _is_beside(module: str) -> bool:
    parts = module.split(".")
    return parts[0] in _BESIDE or "datasets" in parts


def named_by(path: str, command: str) -> bool:
    """Returns whether a command refers to a file by its path, the end of its path, or its module name."""
    words = [word.strip("\"'").removesuffix(".py").replace("/", ".") for word in command.split()]
    dotted = f".{path.removesuffix('.py').replace('/', '.')}"
    return any(dotted.endswith(f".{word.lstrip('.')}") for word in words if word)


def surely_measures(part: str) -> bool:
    """Returns whether a part of the evaluation only takes measurements, judging by its name in the fingerprint."""
    name = part.partition("::")[2]
    return not name or (is_measure(name.rpartition(".")[2]) and _TRAINS.isdisjoint(words_of(name)))


def trains(function: str) -> bool:
    """Returns whether a function trains or predicts, judging by its name."""
    return not _PREDICTS.isdisjoint(words_of(function))


def metric_code(
    sources: Sequence[PythonSource], metric: Metric, command: str = "", printed: tuple[str, int] | None = None
) -> tuple[list[Place], list[Place], list[Place]]:
    """Returns three lists of lines. The first list contains the statements in the evaluation's fingerprint that write
    the metric, and statements in the same function that compute their inputs. If `printed` is known and one of the
    statements that write the metric is at that line, the others are left out. Otherwise, the statement at that line is
    added.

    The second list contains the evaluation's functions and files that do not train anything. This list also contains
    functions that this code calls, directly or indirectly, if their names suggest measurement or contain a word from
    the metric. The third list contains other functions that these lines call by a plain name. The method may also call
    these functions.
    """
    vocabulary = _METRIC.union(words_of(literal(metric)))
    written: list[Place] = []
    places: list[Place] = []
    called: set[str] = set()
    plain: set[str] = set()
    parts_of = {s.path: list(measuring(s.path, s.tree, metric, program=named_by(s.path, command))) for s in sources}
    labelled = {
        id(node)
        for parts in parts_of.values()
        for _, node in parts
        if not isinstance(node, ast.Module | Function) and _shows(node)
    }
    writer = next((id(s) for source in sources for s in source.statements() if _is_at(source, s, printed)), None)
    if writer is not None:
        labelled = {writer} if writer in labelled else {*labelled, writer}
    for source in sources:
        parts = parts_of[source.path]
        for name, node in parts:
            if isinstance(node, ast.Module):
                places.append(Place(path=source.path, start_line=1, end_line=source.text.count("\n") + 1))
            elif surely_measures(name):
                places.append(source.place(node))
        for body in bodies(source):
            simple = [s for s in body if not isinstance(s, _COMPOUND)]
            protected = [s for s in simple if id(s) in labelled]
            reads = set().union(*(names_in(s) for s in protected)) if protected else set()
            for statement in reversed(simple):
                measures = any(_measures(name, vocabulary) for name in _called(statement))
                if statement not in protected and measures and _binds(statement) & reads:
                    protected.append(statement)
            for statement in protected:
                written.append(source.place(statement))
                plain.update(_called(statement, ast.Name))
                called.update(name for name in _called(statement) if _measures(name, vocabulary))
    functions = [(name.rpartition(".")[2], source, f) for source in sources for name, f in source.functions]
    waiting, known = sorted(called), set(called)
    while waiting:
        wanted_name = waiting.pop()
        for name, source, function in functions:
            if name == wanted_name:
                places.append(source.place(function))
                plain.update(_called(function, ast.Name))
                inner = {n for n in _called(function) if _measures(n, vocabulary)} - known
                known |= inner
                waiting += sorted(inner)
    shared = [
        source.place(function) for name, source, function in functions if name in plain - known and not trains(name)
    ]
    return written, places, shared


def _is_at(source: PythonSource, statement: ast.stmt, at: tuple[str, int] | None) -> bool:
    if at is None or source.path != at[0] or hasattr(statement, "body"):
        return False
    return statement.lineno <= at[1] <= (statement.end_lineno or statement.lineno)


def _shows(statement: ast.stmt) -> bool:
    """Returns whether a statement does more than print or log fixed text. For example, `log.info("computing the
    accuracy")` does not."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return not isinstance(call, ast.Call) or any(not isinstance(each, ast.Constant) for each in call.args)


_COMPOUND = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.With, ast.Try)


def bodies(source: PythonSource) -> Iterator[list[ast.stmt]]:
    """Yields a list of the module's statements outside functions, then one list per function. The lists include nested
    blocks."""
    yield list(inside(source.tree))
    for _, function in source.functions:
        yield list(inside(function))


def inside(node: ast.AST) -> Iterator[ast.stmt]:
    """Yields a node's statements. Includes nested blocks, but not nested functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, Function | ast.Lambda):
            yield from inside(child)


def measures(function: str) -> bool:
    """Returns whether a function measures something, judging by its name."""
    return _measures(function, _METRIC)


def _measures(function: str, vocabulary: Set[str]) -> bool:
    return not vocabulary.isdisjoint(words_of(function))


def _called(node: ast.AST, kinds: type[ast.expr] | UnionType = ast.Name | ast.Attribute) -> Iterator[str]:
    calls = (child.func for child in ast.walk(node) if isinstance(child, ast.Call))
    return (last_name(function) for function in calls if isinstance(function, kinds))


def _binds(statement: ast.stmt) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
