"""What is not ablated: what does not belong to a method, by its name, and the code that computes the metric."""

import ast
from collections.abc import Iterator, Mapping, Sequence, Set

from xkg.agents.ablation.candidates import Place
from xkg.agents.ablation.space.python_source import Function, PythonSource, names_in, words_of
from xkg.agents.ablation.space.reported import only_reported, reported_names, returned_to
from xkg.agents.workspace.evaluation import is_measure, measuring
from xkg.agents.workspace.metric import Metric

_DATA = "data and their evaluation"
_BESIDE = frozenset(
    "matplotlib seaborn plotly bokeh logging json os sys pickle csv pathlib argparse tqdm time wandb tensorboard"
    " progressbar terminaltables rich shutil subprocess".split()
)
_REASONS: Mapping[str, str] = {
    **dict.fromkeys("seed seeds random_state rng".split(), "the random seed"),
    **dict.fromkeys(
        "epochs epoch steps iterations iters niter maxiter nsteps rounds maxepoch maxepochs nepoch nepochs"
        " numepochs".split(),
        "the length of training",
    ),
    **dict.fromkeys(
        "path paths dir directory folder file filename out output outdir save load log logs logging logger plot plots"
        " fig figure figsize dpi checkpoint ckpt resume verbose verbosity print debug name title label color indent"
        " width quiet progress".split(),
        "input, output or display",
    ),
    **dict.fromkeys(
        "axis axes dim dims keepdims shape dtype order ndim ndmin casting loc".split(), "the shape of an array"
    ),
    **dict.fromkeys(
        "device cuda gpu gpus cpu workers jobs threads port host pin".split(), "the machine that it runs on"
    ),
    **dict.fromkeys(
        "data dataset datasets samples split fold folds download test eval val valid validation evaluation".split(),
        _DATA,
    ),
}
_WORK = frozenset("load read write download save plot draw log print report parse fetch show".split())
_LAYOUT = frozenset(
    "array asarray atleast_1d atleast_2d reshape transpose swapaxes permute tile squeeze unsqueeze expand_dims flatten"
    " ravel view astype copy contiguous tuple list dict set int float str sorted reversed numpy to detach cpu".split()
)
_METRIC = frozenset(
    "evaluate evaluation eval metric metrics score scores test validate accuracy acc mse rmse mae error auc f1"
    " precision recall r2 loss_fn".split()
)
_TRAINS = frozenset("train training fit learn optimize optimise step update run main loop epoch".split())
_PREDICTS = _TRAINS | frozenset("predict predictions prediction forward sample generate transform infer".split())


def reason(name: str) -> str | None:
    """Why a value of this name is no part of a method, in a few words; None where it may be one."""
    for word in words_of(name):
        if word in _REASONS:
            return _REASONS[word]
    return None


def splits_data(function: str) -> bool:
    """Whether a function's name says that it makes or divides data."""
    return any(_REASONS.get(word) == _DATA for word in words_of(function))


def beside_the_method(tree: ast.Module) -> set[str]:
    """Names that a file imports from libraries of display, logging, files and data."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {a.asname or a.name.partition(".")[0] for a in node.names if _is_beside(a.name)}
        elif isinstance(node, ast.ImportFrom) and node.module and _is_beside(node.module):
            names |= {a.asname or a.name for a in node.names}
    return names


def _is_beside(module: str) -> bool:
    parts = module.split(".")
    return parts[0] in _BESIDE or "datasets" in parts


def is_work(function: str) -> bool:
    """Whether a function's name says that it reads, writes or draws."""
    words = words_of(function.rpartition(".")[2])
    return bool(words) and words[0] in _WORK


def is_layout(function: str) -> bool:
    """Whether a called function changes the shape or type of its argument alone, as far as its name says."""
    return function in _LAYOUT


def named_for_measuring(sources: Sequence[PythonSource], metric: Metric) -> list[Place]:
    """Functions that measure by their name and do not train by it, and test files: what the fingerprint of an
    evaluation is sure of."""
    return [
        source.place(node)
        if isinstance(node, ast.stmt)
        else Place(path=source.path, start_line=1, end_line=source.text.count("\n") + 1)
        for source in sources
        for name, node in measuring(source.path, source.tree, metric)
        if surely_measures(name)
    ]


def surely_measures(part: str) -> bool:
    """Whether a part of the evaluation, by its name in the fingerprint, is no part of the method as well."""
    name = part.partition("::")[2]
    return not name or (is_measure(name.rpartition(".")[2]) and _TRAINS.isdisjoint(words_of(name)))


def metric_code(sources: Sequence[PythonSource], keys: Sequence[str]) -> tuple[list[Place], list[Place]]:
    """The lines that compute or write the metric: statements that hold a key of the metric (its name in the result
    file, the file's name) as text, those of the same function that compute what these read, and functions that they
    call, and these in turn, whose name says that they measure, or has a word of a key, and what is reported alone. Then
    the other functions that these lines call by a plain name: the method may call them too, and then they are part of
    both."""
    wanted = {key for key in keys if len(key) > 1}
    vocabulary = _METRIC.union(*(words_of(key) for key in keys if "." not in key))
    places: list[Place] = []
    called: set[str] = set()
    plain: set[str] = set()
    reported: set[str] = set()
    for source in sources:
        for body in _bodies(source):
            simple = [s for s in body if not isinstance(s, _COMPOUND)]
            protected = [s for s in simple if _mentions(s, wanted)]
            reads = set().union(*(names_in(s) for s in protected)) if protected else set()
            for statement in reversed(simple):
                measures = any(_measures(name, vocabulary) for name in _called(statement))
                if statement not in protected and measures and _binds(statement) & reads:
                    protected.append(statement)
            printed = set().union(*(reported_names(s) for s in protected)) if protected else set()
            reported |= returned_to([s for s in simple if s not in protected], printed)
            for statement in protected:
                places.append(source.place(statement))
                plain.update(_called_plainly(statement))
                called.update(name for name in _called(statement) if _measures(name, vocabulary))
    functions = [(name.rpartition(".")[2], source, f) for source in sources for name, f in source.functions]
    waiting, known = sorted(called), set(called)
    while waiting:
        wanted_name = waiting.pop()
        for name, source, function in functions:
            if name == wanted_name:
                places.append(source.place(function))
                plain.update(_called_plainly(function))
                inner = {n for n in _called(function) if _measures(n, vocabulary)} - known
                known |= inner
                waiting += sorted(inner)
    places += [source.place(statement) for source, statement in only_reported(sources, reported - known)]
    shared = [
        source.place(function)
        for name, source, function in functions
        if name in plain - known and _PREDICTS.isdisjoint(words_of(name))
    ]
    return places, shared


_COMPOUND = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.With, ast.Try)


def _bodies(source: PythonSource) -> Iterator[list[ast.stmt]]:
    """The statements of the module outside functions, then those of each function, nested blocks included."""
    yield list(_inside(source.tree))
    for _, function in source.functions:
        yield list(_inside(function))


def _inside(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, Function | ast.Lambda):
            yield from _inside(child)


def _mentions(statement: ast.stmt, keys: set[str]) -> bool:
    return any(
        (isinstance(node, ast.Constant) and isinstance(node.value, str) and any(key in node.value for key in keys))
        or (isinstance(node, ast.keyword) and node.arg in keys)
        for node in ast.walk(statement)
    )  # fmt: skip


def _measures(function: str, vocabulary: Set[str]) -> bool:
    return not vocabulary.isdisjoint(words_of(function))


def _called(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Call):
            if isinstance(child.func, ast.Name):
                yield child.func.id
            elif isinstance(child.func, ast.Attribute):
                yield child.func.attr


def _called_plainly(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name):
            yield child.func.id


def _binds(statement: ast.stmt) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
