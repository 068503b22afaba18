import ast
import json
import re
from pathlib import Path

import pytest

from xkg.agents.workspace.command import Commands, packages_for, with_counts
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.parsing import SourceReader
from xkg.agents.workspace.program.metric import Metric
from xkg.agents.workspace.program.outline import outline
from xkg.agents.workspace.run_hints import hint
from xkg.build.parsing.parsers import Parsers
from xkg.config import SandboxSettings
from xkg.errors import InputError, SandboxUnavailableError
from xkg.sandbox.guest.source import guest_source
from xkg.sandbox.isolation.container import ContainerRunner
from xkg.sandbox.runner import Environment, Limits
from xkg.sandbox.select import runner_for


def test_a_run_says_how_often_each_line_ran(workspace: Workspace, commands: Commands, parsers: Parsers) -> None:
    result = commands.run(workspace, "python train.py", trace=["lib/model.py", "logo.png", "absent.py"])
    assert result.ok
    assert result.problem is None
    reader = SourceReader(parsers)
    assert result.metric_or_problem(Metric.parse(r"loss: ([\d.]+):min"), reader) == (0.5, None)
    assert result.lines is not None
    counted = result.lines["lib/model.py"]
    assert counted[2] == counted[4] == 3
    assert 3 not in counted
    text = workspace.text("lib/model.py")
    shown = with_counts(text, counted, outline(text).executable, {3})
    assert "       - +    3          x = 0" in shown


def test_lines_count_in_threads_and_in_processes_that_are_killed(workspace: Workspace, commands: Commands) -> None:
    script = (
        "import os, signal, subprocess, sys, threading\nfrom lib.model import step\n"
        "if len(sys.argv) > 1:\n    step(1)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "thread = threading.Thread(target=step, args=(9,))\nthread.start()\nthread.join()\n"
        "subprocess.run([sys.executable, 'train.py', 'child'])\n"
    )
    workspace.edit({"train.py": script}, "threads and processes")
    result = commands.run(workspace, "python train.py", trace=["lib/model.py"])
    assert result.ok, result
    assert result.lines == {"lib/model.py": {1: 2, 2: 2, 3: 1, 4: 2}}


def test_awaited_lines_are_those_that_ran(workspace: Workspace, commands: Commands) -> None:
    plain = commands.run(workspace, "python train.py")
    result = commands.run(workspace, "python train.py", awaited={"lib/model.py": [[2], [3], [4]]})
    assert result.output == plain.output
    assert result.lines == {"lib/model.py": {2: 1, 4: 1}}
    assert not result.gave_up


def test_a_wait_that_slows_a_run_is_given_up(workspace: Workspace, commands: Commands) -> None:
    script = "def f(n):\n    while n:\n        n -= 1\n    return n\nf(600_000)\n"
    workspace.edit({"train.py": script}, "a long loop")
    result = commands.run(workspace, "python train.py", awaited={"train.py": [[4], [5]]})
    assert result.ok
    assert result.gave_up
    assert result.lines == {"train.py": {5: 1}}


def test_a_traced_run_says_which_files_it_opened(workspace: Workspace, commands: Commands) -> None:
    workspace.edit({"train.py": "print(open('used.txt').read())\n", "used.txt": "1", "unused.txt": "2"}, "a file")
    result = commands.run(workspace, "python train.py", trace=["train.py"])
    assert result.ok
    assert "used.txt" in (result.opened or ())
    assert "unused.txt" not in (result.opened or ())


def test_a_traced_run_says_which_line_printed_a_pattern_last(workspace: Workspace, commands: Commands) -> None:
    script = (
        "import logging, sys\ndef show(name, value):\n    print(name + ':', value)\n"
        "print('mse:', 1)\nshow('mse', 2)\nprint('mse: 3', end=' ')\nsys.stdout.write('and more\\n')\n"
        "logging.warning('MSE %d', 4)\nprint('msec: 5')\n"
    )
    workspace.edit({"train.py": script}, "metrics")

    def line_of(pattern: str) -> object:
        return commands.run(workspace, "python train.py", trace=["train.py"], printed=pattern).printed

    assert line_of(r"^mse: \d$") == ("train.py", 3)
    assert line_of(r"mse: \d") == ("train.py", 6)
    assert line_of(r"MSE \d") == ("train.py", 8)
    assert line_of("accuracy") is None


def test_nothing_is_known_of_lines_that_no_process_looked_for(workspace: Workspace, commands: Commands) -> None:
    result = commands.run(workspace, "python -S -c 1", awaited={"train.py": [[1]]})
    assert result.ok
    assert result.gave_up


@pytest.mark.parametrize("name", ["line_trace", "network_record", "no_gpu"])
def test_what_processes_import_first_has_no_annotation_that_older_pythons_cannot_evaluate(name: str) -> None:
    tree = ast.parse(guest_source(name), feature_version=(3, 7))
    if any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body):
        return
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    annotations = [each for f in functions for each in (f.returns, *(a.annotation for a in f.args.args)) if each]
    assert not [node for each in annotations for node in ast.walk(each) if isinstance(node, ast.Subscript)]


def test_a_run_leaves_the_tree_as_it_was(workspace: Workspace, commands: Commands) -> None:
    workspace.edit(
        {"train.py": "import shutil, pathlib\nshutil.rmtree(pathlib.Path.cwd())\nprint('gone')\n"}, "delete everything"
    )
    result = commands.run(workspace, "python train.py")
    assert "gone" in result.output
    assert {"train.py", "lib/model.py"} <= set(result.removed)
    assert (workspace.tree / "lib/model.py").exists()


def test_files_that_a_run_leaves_are_returned(workspace: Workspace, commands: Commands) -> None:
    script = "import json, os\njson.dump({'a': 2}, open('r.json', 'w'))\nos.symlink('/etc/passwd', 'link.json')\n"
    workspace.edit({"train.py": script}, "write")
    result = commands.run(workspace, "python train.py", wanted=["r.json", "link.json", "absent", "../x"])
    assert result.files == {"r.json": json.dumps({"a": 2}).encode()}
    assert "r.json" not in workspace.files


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("import time\ntime.sleep(60)", "did not finish within 2 s"),
        ("raise ValueError('no data')", r"status 1: ValueError: no data \(train.py:1\)$"),
        ("x = []\nwhile True: x.append(b'1' * (1 << 24))", "of memory|MemoryError"),
        ("f = open('big', 'wb')\nwhile True: f.write(b'0' * (1 << 20))", "status|wrote more"),
        (
            "import socket\nsocket.create_connection(('1.1.1.1', 53), 1)",
            r"no network access, but it needs 1\.1\.1\.1 at train",
        ),
        ("def f(:\n", r"SyntaxError: invalid syntax \(train.py:1\)"),
        ("import json\n\njson.loads('{')", r"JSONDecodeError: .* \(train.py:3\)"),
        ("import os\nos.kill(os.getpid(), 9)", "status 137"),
        ("import argparse\nargparse.ArgumentParser().error('no x')", r"status 2: train.py: error: no x$"),
    ],
)
def test_what_goes_wrong_is_one_line(workspace: Workspace, script: str, problem: str) -> None:
    workspace.edit({"train.py": script}, "hostile")
    limits = Limits(seconds=2 if "sleep" in script else 60, memory_mb=300, disk_mb=64)
    result = Commands(runner_for(SandboxSettings()), Environment(site=None, hash=""), limits).run(
        workspace, "python train.py"
    )
    assert not result.ok
    assert result.problem is not None
    assert "\n" not in result.problem
    assert re.search(problem, result.problem)


def test_no_key_and_no_home_is_seen(
    workspace: Workspace, commands: Commands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    secret = tmp_path / "secret"
    secret.write_text("hush")
    script = f"import os\nprint(dict(os.environ))\nprint(os.path.exists({str(secret)!r}))\nprint(os.listdir('.'))\n"
    workspace.edit({"train.py": script}, "look around")
    output = commands.run(workspace, "python train.py").output
    assert "very-secret" not in output
    assert "False" in output


def test_named_data_is_there_for_reading(workspace: Workspace, tmp_path: Path) -> None:
    data = tmp_path / "datasets"
    data.mkdir()
    data.chmod(0o755)
    (data / "a.txt").write_text("seven")
    runner = runner_for(SandboxSettings())
    commands = Commands(runner, Environment(site=None, hash=""), Limits(seconds=60), {"data/cifar": data})
    workspace.edit({"train.py": "print(open('data/cifar/a.txt').read())\nopen('data/cifar/b', 'w')\n"}, "read")
    result = commands.run(workspace, "python train.py")
    assert "seven" in result.output
    assert not result.ok
    assert sorted(path.name for path in data.iterdir()) == ["a.txt"]
    with pytest.raises(InputError, match="does not exist"):
        Commands(runner, Environment(site=None, hash=""), Limits(), {"data": tmp_path / "absent"})
    hiding = Commands(runner, Environment(site=None, hash=""), Limits(), {"lib": data})
    with pytest.raises(InputError, match="a file there"):
        hiding.run(workspace, "python train.py")


def readable(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for place in (folder, *folder.rglob("*")):
        place.chmod(0o755)
    return folder


def test_given_packages_are_found_and_not_installed(workspace: Workspace, tmp_path: Path, parsers: Parsers) -> None:
    warn = "import warnings\n\ndef wave():\n    warnings.warn('a strong wave')\n    return 7\n"
    libraries = {"tides/__init__.py": warn, "foam.py": "DEEP = 5\n", "foam-1.0.dist-info/METADATA": ""}
    site = readable(tmp_path / "site", libraries)
    package = readable(tmp_path / "checkout" / "shells", {"__init__.py": "MANY = 3\n"})
    loose = readable(tmp_path / "loose", {"numpy.py": "raise SystemExit('a file of data, not a package')\n"})
    data = {"libs": site, "shells": package, "loose": loose}
    script = "import foam, shells, tides\nprint('sum:', foam.DEEP + shells.MANY + tides.wave())\n"
    workspace.edit({"train.py": script, "more.py": "import numpy\n"}, "n")
    asked: list[object] = []

    class Maker:
        def make(self, imports: object, *_: object) -> Environment:
            asked.append(imports)
            return Environment(site=None, hash="x")

    reader = SourceReader(parsers)
    environment = packages_for(workspace, Maker(), reader, data=data)  # type: ignore[arg-type]
    assert asked == [{"numpy": ()}]
    runner = runner_for(SandboxSettings())
    result = Commands(runner, environment, Limits(seconds=60), data).run(workspace, "python train.py")
    assert "sum: 15" in result.output, result
    assert "/tmp/job/work/libs/tides/__init__.py:4: UserWarning: a strong wave" in result.output
    assert str(tmp_path) not in result.output


@pytest.mark.parametrize(
    ("command", "packages"),
    [
        ("cd nets && python -m waves.train --epochs 1", {"numpy", "scipy"}),
        ("bash all.sh", {"numpy", "scipy"}),
        ("make figures", {"numpy", "scipy", "torch", "plugin"}),
        ("", {"numpy", "scipy", "torch", "plugin"}),
    ],
)
def test_the_packages_of_a_command_are_those_that_its_files_import(
    workspace: Workspace, parsers: Parsers, command: str, packages: set[str]
) -> None:
    files = {
        "nets/waves/__init__.py": "import scipy\n",
        "nets/waves/train.py": "from waves.model import Wave\n",
        "nets/waves/model.py": "import numpy\nclass Wave: pass\n",
        "compare.py": "import torch\n",
        "all.sh": "cd nets\npython waves/train.py\n",
        "requirements.txt": "plugin==1\nnumpy==1.2\n",
    }
    workspace.edit(files, "n")
    asked: list[set[str]] = []

    class Maker:
        def make(self, imports: dict[str, object], lines: list[str], _: object, declared: list[str]) -> Environment:
            assert "numpy==1.2" in lines
            asked.append({*imports, *(line.partition("==")[0] for line in declared)})
            return Environment(site=None, hash="x")

    packages_for(workspace, Maker(), SourceReader(parsers), command=command)  # type: ignore[arg-type]
    assert asked == [packages]


def test_a_script_imports_the_repositorys_packages_as_if_installed(workspace: Workspace, commands: Commands) -> None:
    files = {
        "setup.py": "from setuptools import setup\nsetup(name='tidal-waves',\n      version='1.2')\n",
        "waves/__init__.py": "HIGH = 2\n",
        "src/ripples/__init__.py": "LOW = 1\n",
        "examples/show.py": (
            "import importlib.metadata as m, ripples, waves\n"
            "print('sum:', waves.HIGH + ripples.LOW, m.version('tidal-waves'))\n"
        ),
    }
    workspace.edit(files, "n")
    result = commands.run(workspace, "python examples/show.py", trace=["waves/__init__.py"])
    assert "sum: 3 1.2" in result.output
    assert result.lines == {"waves/__init__.py": {1: 1}}


def test_no_path_of_this_machine_is_shown(workspace: Workspace, tmp_path: Path) -> None:
    site = readable(tmp_path / "site", {"tides.py": "def wave():\n    raise ValueError(__file__)\n"})
    workspace.edit({"train.py": "import json, tides\nprint(json.__file__, tides.__file__)\ntides.wave()\n"}, "n")
    for name in ("bubblewrap", "landlock"):
        try:
            runner = runner_for(SandboxSettings(runner=name))  # type: ignore[arg-type]
        except SandboxUnavailableError:
            continue
        result = Commands(runner, Environment(site=site, hash="x"), Limits(seconds=60)).run(
            workspace, "python train.py"
        )
        assert "/site/tides.py" in result.output, result
        assert result.problem == "it ended with status 1: ValueError: /site/tides.py (train.py:3)"
        assert str(tmp_path) not in result.output
        assert "/tmp/job/work/train.py" in result.output


def test_code_is_compiled_in_a_run(workspace: Workspace, commands: Commands) -> None:
    workspace.edit({"a.c": "#include <Python.h>\nint main(void) { return PY_MAJOR_VERSION; }\n"}, "C")
    headers = "$(python -c 'import sysconfig; print(sysconfig.get_path(\"include\"))')"
    result = commands.run(workspace, f"cc -I {headers} a.c -o a; ./a")
    assert result.exit_code == 3, result.output


def test_a_program_that_is_not_there_is_named(workspace: Workspace, commands: Commands) -> None:
    assert str(commands.run(workspace, "julia train.jl").problem).endswith("julia: command not found")
    with pytest.raises(InputError, match="cannot be split"):
        commands.run(workspace, "python 'train.py")
    assert commands.run(workspace, "sh -c 'exit 3'").exit_code == 3


def test_a_command_is_a_shell_line(workspace: Workspace, commands: Commands) -> None:
    imports = "import os, sys\nsys.path.append('../..')\nfrom lib.model import step\n"
    script = f"{imports}step(1)\nprint('B is', os.environ['B'])\n"
    workspace.edit({"tasks/copying/run.py": script}, "a script that is started in its folder")
    line = "cd tasks/copying && B=1 python run.py | tee log && python3 -c 'from run import step; step(2)' > /dev/null"
    result = commands.run(workspace, f"export B=2; {line}", trace=["lib/model.py"], wanted=["tasks/copying/log"])
    assert result.ok, result
    assert result.output == "B is 1\n"
    assert result.files == {"tasks/copying/log": b"B is 1\n"}
    assert result.lines is not None
    assert result.lines["lib/model.py"][2] == 3


@pytest.mark.parametrize("line", ["python gone.py | tee log", "python gone.py; echo done", "python gone.py\necho done"])
def test_a_shell_line_ends_where_a_command_of_it_fails(workspace: Workspace, commands: Commands, line: str) -> None:
    result = commands.run(workspace, line)
    assert result.exit_code == 2
    assert "done" not in result.output
    assert "gone.py" in str(result.problem)


def test_nothing_runs_uncontained_where_a_container_engine_is_the_sandbox(workspace: Workspace) -> None:
    commands = Commands(ContainerRunner(), Environment(site=None, hash=""), Limits(seconds=60))
    with pytest.raises(SandboxUnavailableError, match="bubblewrap or Landlock"):
        commands.run(workspace, "python train.py")


FAKE_TORCH = """
import types


class device:
    type = "cuda"


def zeros(size, device=None):
    \"\"\"device (:class:`torch.device`, optional)\"\"\"
    if device == "cuda":
        raise RuntimeError("Found no NVIDIA driver on your system")
    return [0.5] * size


cuda = types.SimpleNamespace(is_available=lambda: False, device_count=lambda: 0)
"""


def test_code_for_cuda_runs_on_the_cpu_where_that_is_asked(workspace: Workspace) -> None:
    script = "import argparse\nimport torch\nargparse.ArgumentParser().add_argument('--no-cuda')\n"
    script += "print('loss:', torch.zeros(1, device='cuda')[0])\n"
    workspace.edit({"torch/__init__.py": FAKE_TORCH, "train.py": script}, "for CUDA")
    runner, limits = runner_for(SandboxSettings()), Limits(seconds=60, disk_mb=64)
    failed = Commands(runner, Environment(site=None, hash=""), limits).run(workspace, "python train.py")
    assert failed.problem is not None
    assert (
        "pass --cpu to run its CUDA code on the CPU; the code's own option --no-cuda may turn CUDA off"
        in failed.problem
    )
    result = Commands(runner, Environment(site=None, hash="", cpu=True), limits).run(
        workspace, "python train.py", trace=["train.py"]
    )
    assert result.output.strip() == "loss: 0.5"
    assert result.lines == {"train.py": {1: 1, 2: 1, 3: 1, 4: 1}}


@pytest.mark.parametrize(
    ("code", "path", "remedy"),
    [
        ("open(p)", "lib/rows.csv", r"\(pass --data lib/rows\.csv=FILE\)"),
        (
            "open(p, 'rb')",
            "input/all/a.csv",
            r"\(pass --data input=FOLDER containing all/a\.csv, or a --setup command",
        ),
        ("open(p, 'wb')", "input/all/a.csv", r"\(pass --setup 'mkdir -p input/all'"),
        ("np.savetxt(p, x)", "input/all/a.csv", r"\(pass --setup 'mkdir -p input/all'"),
        ("open(p)", r"lib\\here.csv", r"\(a Windows path: the repository has lib/here\.csv"),
        ("open(p)", "/data/rows.csv", r"\(runs cannot see files outside .*; move /data/rows\.csv into"),
        ("open(p)", "../rows.csv", r"\(runs cannot see files outside .* move \.\./rows\.csv into"),
    ],
)
def test_a_missing_file_is_named_with_its_option(workspace: Workspace, code: str, path: str, remedy: str) -> None:
    workspace.edit({"lib/here.csv": "1\n"}, "data")
    error = f"FileNotFoundError: [Errno 2] No such file or directory: '{path}'\n"
    output = f'Traceback (most recent call last):\n  File "train.py", line 1, in <module>\n    {code}\n{error}'
    assert re.fullmatch(f"{remedy}.*", f"({hint(output, 'python train.py', workspace, (), (), cuda=False, cpu=False)})")


@pytest.mark.parametrize(
    ("file", "module", "copy"),
    [
        ("src/Layer.py", "layer", "cp -r src/Layer.py src/layer.py"),
        ("SpNet/__init__.py", "spNet.core", "cp -r SpNet spNet"),
        ("layer.py", "layers", ""),
    ],
)
def test_a_module_whose_file_has_other_capitals_is_named_with_the_command_that_gives_it(
    workspace: Workspace, file: str, module: str, copy: str
) -> None:
    workspace.edit({file: ""}, "module")
    output = f"Traceback (most recent call last):\nModuleNotFoundError: No module named '{module}'\n"
    found = hint(output, "python train.py", workspace, (), (), cuda=False, cpu=False)
    assert found == (f"pass --setup '{copy}', since names are case-sensitive" if copy else "")


@pytest.mark.parametrize(
    ("output", "remedy"),
    [
        (
            '  File "/tmp/job/work/old/words.py", line 1\n    print 1\nSyntaxError: Missing parentheses in call to '
            "'print'. Did you mean print(...)?\n",
            "pass --with fissix --setup 'python -m fissix -wn old/words.py', which converts the file",
        ),
        (
            "python: Error while finding module specification for 'shop.old.words' (ModuleNotFoundError: No module "
            "named 'shop')\n",
            "the repository has it as old/words.py; use that file in --run",
        ),
        (
            'Traceback (most recent call last):\n  File "/tmp/job/work/old/words.py", line 2, in <module>\n'
            '    env.render()\n  File "/site/pyglet/x.py", line 9, in f\nNoSuchDisplayException: Cannot connect\n',
            "pass --setup 'sed -i 2s/[[:graph:]].*/pass/ old/words.py', since this line needs a display",
        ),
    ],
)
def test_a_file_that_needs_another_syntax_or_name_is_named(workspace: Workspace, output: str, remedy: str) -> None:
    workspace.edit({"old/words.py": "print 1\nenv.render()\n"}, "old")
    assert hint(output, "python -m shop.old.words", workspace, (), (), cuda=False, cpu=False) == remedy


def test_what_a_run_wants_from_the_network_is_named_with_the_line(workspace: Workspace, commands: Commands) -> None:
    script = "import urllib.request\n\nurllib.request.urlopen('https://data.example.org/set.gz')\n"
    workspace.edit({"train.py": script}, "fetch")
    result = commands.run(workspace, "python train.py")
    assert [each.host for each in result.downloads] == ["data.example.org"] * 2
    assert result.problem is not None
    assert "it needs https://data.example.org/set.gz at train.py:3, `urllib.request.urlopen(" in result.problem
