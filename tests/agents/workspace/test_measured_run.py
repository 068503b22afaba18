"""Tests the measurement of hostile code: the reported metric is the honest one, or the remarks say that it may be
forged.

Each kind of attack has many variants. A single edited file tries all variants, so each kind costs only one run. Of the
38 variants, 33 forge the metric if the run or its evaluation shares a sandbox with them. The other five attack the
environment of the run."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest

from xkg.agents.workspace.command import Commands, RunResult
from xkg.agents.workspace.files.starter import read_starter
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.measured_run import Origin, measured, remarks
from xkg.agents.workspace.parsing import SourceReader
from xkg.agents.workspace.program.metric import Metric
from xkg.build.parsing.parsers import Parsers
from xkg.config import SandboxSettings
from xkg.errors import SandboxUnavailableError
from xkg.sandbox.runner import Environment, Limits
from xkg.sandbox.select import runner_for

METRIC = Metric.parse(r"accuracy: ([\d.]+):max")
STARTER = {
    "train.py": "import json\nfrom model import predict\nfrom metrics import accuracy\n"
    "found = [predict(x) for x in range(4)]\njson.dump(found, open('found.json', 'w'))\n"
    "print('accuracy:', accuracy(found, [0, 1, 2, 9]))\n",
    "model.py": "def predict(x):\n    return x\n",
    "metrics.py": "def accuracy(found, labels):\n"
    "    return sum(one == other for one, other in zip(found, labels)) / len(labels)\n",
    "evaluate.py": "import json\nfrom metrics import accuracy\n"
    "print('accuracy:', accuracy(json.load(open('found.json')), json.load(open('labels.json'))))\n",
    "labels.json": "[0, 1, 2, 9]",
}
HONEST = 0.75
PATCH = "import metrics; metrics.accuracy = lambda *_: 1.0"
HOSTILE = {
    "text that is run": [
        "exec(PATCH)",
        "eval(compile(PATCH, 'a', 'exec'))",
        "import timeit; timeit.timeit(PATCH, number=1)",
        "import cProfile, io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()): cProfile.run(PATCH)",
        "import pickle; pickle.loads(b'cbuiltins\\nexec\\n(V' + PATCH.encode() + b'\\ntR.')",
        "import code; code.InteractiveInterpreter().runcode(compile(PATCH, 'a', 'exec'))",
        "import doctest; doctest.run_docstring_examples('>>> ' + PATCH, {})",
        "import runpy, pathlib; pathlib.Path('p').write_text(PATCH); runpy.run_path('p')",
        "import types; types.FunctionType(compile(PATCH, 'a', 'exec'), {})()",
        "import marshal; exec(marshal.loads(marshal.dumps(compile(PATCH, 'a', 'exec'))))",
        "__import__('builtins').__dict__['ex' + 'ec'](PATCH)",
    ],
    "objects that are replaced": [
        "import metrics; setattr(metrics, 'accu' + 'racy', one)",
        "import metrics; vars(metrics)['accuracy'] = one",
        "import metrics; object.__setattr__(metrics, 'accuracy', one)",
        "import metrics, operator; operator.setitem(operator.attrgetter('__dict__')(metrics), 'accuracy', one)",
        "import metrics; metrics.accuracy.__code__ = one.__code__",
        "import metrics, unittest.mock as m; m.patch.object(metrics, 'accuracy', one).start()",
        "import sys; sys.modules['metrics'] = type(sys)('metrics'); sys.modules['metrics'].accuracy = one",
        "import gc, metrics; gc.get_referents(metrics)[0]['accuracy'] = one",
        "import builtins; builtins.sum = lambda *_: 4",
    ],
    "output that is forged": [
        "import contextlib, io; contextlib.redirect_stdout(io.StringIO()).__enter__(); print('accuracy: 1.0')",
        "import atexit, os; atexit.register(os.write, 1, b'accuracy: 1.0\\n')",
        "import builtins; p = print; builtins.print = lambda *_: p('accuracy: 1.0')",
        "import sys; sys.stdout = type('O', (), {'write': lambda *_: 0, 'flush': lambda *_: 0})()",
        "import threading, os; threading.Timer(0.05, os.write, (1, b'accuracy: 1.0\\n')).start()",
    ],
    "files that are written": [
        "from pathlib import Path; Path('evaluate.py').write_text(\"print('accuracy: 1.0')\")",
        "import os; os.replace('model.py', 'metrics.py')",
        "from pathlib import Path; Path('labels.json').write_text('[0, 1, 2, 3]')",
        "import os; os.mkdir('metrics'); open('metrics/__init__.py', 'w').write('accuracy = lambda *_: 1.0')",
        "open('json.py', 'w').write('load = lambda *_: [1]')",
        "open('sitecustomize.py', 'w').write(\"print('accuracy: 1.0')\")",
        "import os; os.mkdir('.hidden'); open('.hidden/settings', 'w').write('x')",
        "import os; os.symlink('/etc', 'link'); os.symlink('found.json', 'labels.csv')",
        "import py_compile; open('x', 'w').write(FORGED)\n"
        "py_compile.compile('x', '__pycache__/metrics.cpython-311.pyc',\n"
        "    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)",
        "import os, sys; os.makedirs(os.path.expanduser('~/.local'), exist_ok=True)\n"
        "open(os.path.join(sys.prefix, 'bin', 'evil'), 'w').write('x')\n"
        "os.remove(os.path.join(sys.prefix, 'bin', 'python')); os.symlink('/bin/true', sys.prefix + '/bin/python')",
    ],
    "processes that stay": [
        "import subprocess; subprocess.Popen(['/bin/sh', '-c', WRITES], start_new_session=True)",
        "import os\nif os.fork() == 0:\n    os.setsid()\n    os.execv('/bin/sh', ['sh', '-c', WRITES])",
        "import os; os.system('(' + WRITES + ') &')",
    ],
}
HEAD = f"""\
PATCH = {PATCH!r}
FORGED = 'accuracy = lambda *_: 1.0'
WRITES = 'while true; do echo "print(1)" > evaluate.py; echo "accuracy: 1.0"; sleep 0.01; done'
def one(found, labels): return 1.0
"""


def hostile(means: Sequence[str]) -> str:
    tried = [f"try:\n{textwrap.indent(each, '    ')}\nexcept Exception: pass\n" for each in means]
    return HEAD + "".join(tried) + "def predict(x):\n    return x\n"


@pytest.fixture
def world(tmp_path: Path) -> Workspace:
    (tmp_path / "starter").mkdir()
    for name, text in STARTER.items():
        (tmp_path / "starter" / name).write_text(text)
    return Workspace.create(tmp_path / "run", read_starter(str(tmp_path / "starter"), tmp_path / "cache"))


@pytest.fixture
def reader(parsers: Parsers) -> SourceReader:
    return SourceReader(parsers)


def value(result: RunResult, reader: SourceReader) -> float | None:
    return result.metric_or_problem(METRIC, reader)[0]


def run(
    workspace: Workspace,
    commands: Commands,
    reader: SourceReader,
    evaluate: str | None = "python evaluate.py",
    metric: Metric = METRIC,
) -> tuple[RunResult, Origin]:
    origin = Origin(edited=tuple(workspace.changed()), measuring=("evaluate.py", "metrics.py"), outputs=())
    result = measured(commands, workspace, "python train.py", evaluate, metric, reader, origin, wanted=metric.files)
    return result, origin


@pytest.mark.product("each hostile act")
@pytest.mark.parametrize("kind", HOSTILE)
def test_an_evaluation_apart_is_honest(world: Workspace, commands: Commands, reader: SourceReader, kind: str) -> None:
    world.edit({"model.py": hostile(HOSTILE[kind])}, kind)
    result, origin = run(world, commands, reader)
    assert value(result, reader) == HONEST
    assert result.apart
    assert any("without the edited files" in line for line in remarks(result, METRIC, reader, origin))


@pytest.mark.parametrize("kind", ["objects that are replaced", "files that are written"])
def test_a_shared_process_is_told(world: Workspace, commands: Commands, reader: SourceReader, kind: str) -> None:
    world.edit({"model.py": hostile(HOSTILE[kind])}, kind)
    result, origin = run(world, commands, reader, None)
    said = "\n".join(remarks(result, METRIC, reader, origin))
    assert not result.apart
    assert "in a process that may run edited code" in said
    assert ("removed files with measurement code: evaluate.py, metrics.py" in said) == (kind.startswith("files"))


def test_landlock_measures_apart_too(world: Workspace, reader: SourceReader) -> None:
    try:
        runner = runner_for(SandboxSettings(runner="landlock"))
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    world.edit({"model.py": hostile(HOSTILE["processes that stay"])}, "stay")
    commands = Commands(runner, Environment(site=None, hash=""), Limits(seconds=60, disk_mb=64))
    result, _ = run(world, commands, reader)
    assert (value(result, reader), result.apart) == (HONEST, True)


def test_the_metric_s_file_is_not_the_run_s(world: Workspace, commands: Commands, reader: SourceReader) -> None:
    metric = Metric.parse("json:result.json#accuracy:max")
    world.edit({"model.py": hostile(["open('result.json', 'w').write('{\"accuracy\": 1.0}')"])}, "forge the file")
    result, _ = run(world, commands, reader, metric=metric)
    assert result.metric_or_problem(metric, reader)[0] is None
    assert result.claimed(metric, reader) == 1.0


def test_an_evaluation_of_edited_code_is_not_apart(world: Workspace, commands: Commands, reader: SourceReader) -> None:
    script = "from model import predict\nprint('accuracy:', sum(predict(x) == x for x in (0, 1, 2, 9)) / 4)\n"
    world.edit({"again.py": script, "model.py": "def predict(x):\n    return min(x, 2)\n"}, "clip")
    result, origin = run(world, commands, reader, "python again.py")
    assert value(result, reader) == HONEST
    assert not result.apart
    assert "in a process that may run edited code" in "\n".join(remarks(result, METRIC, reader, origin))


def test_the_starter_is_measured_without_remarks(world: Workspace, commands: Commands, reader: SourceReader) -> None:
    origin = Origin(measuring=("evaluate.py",), outputs=None)
    world.edit({"found.json": "[5]"}, "an output that is committed")
    result = measured(commands, world, "python train.py", "python evaluate.py", METRIC, reader, origin)
    assert (value(result, reader), result.rewritten) == (HONEST, ("found.json",))
    assert remarks(result, METRIC, reader, origin) == ()


def test_a_failed_evaluation_says_which_command_did(world: Workspace, commands: Commands, reader: SourceReader) -> None:
    world.edit({"model.py": "import os\ndef predict(x):\n    return x\n"}, "same")
    result, _ = run(world, commands, reader, "python absent.py")
    assert result.problem is not None
    assert result.problem.startswith("its evaluation `python absent.py`: it ended with status 2")


def test_the_files_that_measure_are_those_with_a_part_of_the_evaluation(reader: SourceReader) -> None:
    assert reader.measuring(STARTER, METRIC) == ("evaluate.py", "metrics.py", "train.py")
    assert "labels.json" in reader.measuring(STARTER, METRIC, ["labels.json"])
