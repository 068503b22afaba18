"""Tests whether a test or an implementation can forge a level, on each runner."""

import os
from collections.abc import Iterable, Iterator
from itertools import cycle
from pathlib import Path
from textwrap import dedent

import pytest

from tests.sandbox.conftest import require_landlock
from xkg.model import Code, Level
from xkg.sandbox.evidence.failure_causes import Cause
from xkg.sandbox.evidence.levels import MUTANTS, Proof, prove
from xkg.sandbox.guest import landlock
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.fork_server import WarmRunner
from xkg.sandbox.isolation.landlock import LandlockRunner
from xkg.sandbox.runner import Environment, Job, Limits, Outcome, Runner

pytestmark = pytest.mark.product("each runner × each hostile act", "runner", "every_way")

LIMITS = Limits(seconds=40, memory_mb=300, output_kb=64)
NOTHING = Environment(site=None, hash="0" * 16)
CODE = '''\
def smoothed(values, keep=0.5):
    """Exponential smoothing."""
    result = []
    value = None
    for new in values:
        value = new if value is None else keep * value + (1 - keep) * new
        result.append(value)
    return result


def scaled(values):
    total = (
        sum(values)
    )
    if total == 0:
        return values
    return [v / total for v in values]
'''
HONEST = """
assert smoothed([4.0, 8.0], keep=0.75) == [4.0, 5.0]
assert smoothed([4.0, 8.0]) == [4.0, 6.0]
assert scaled([1.0, 3.0]) == [0.25, 0.75]
assert scaled([0, 0]) == [0, 0]
"""
# This test executes every line, so all lines are mutated, but it detects no mutant.
RUNS = "smoothed([1, 2]); scaled([1, 2])\n"


RUNNERS = ("bubblewrap", "landlock", "warm")


def in_turn(name: str, acts: Iterable[str]) -> pytest.MarkDecorator:
    """Tries each act on only one runner, because the level depends on the harness and not on the runner. Other tests
    cover the isolation by each runner."""
    return pytest.mark.parametrize(("runner", name), list(zip(cycle(RUNNERS), acts)), indirect=["runner"])


@pytest.fixture(scope="module", params=RUNNERS)
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    if request.param == "bubblewrap":
        yield BubblewrapRunner()
    elif request.param == "landlock":
        require_landlock()
        yield LandlockRunner()
    else:
        require_landlock(landlock.SCOPES_FROM)
        with WarmRunner(BubblewrapRunner(), lambda _: ()) as warm:
            yield warm


def proven(runner: Runner, test: str, implementation: str = CODE, environment: Environment = NOTHING) -> Proof:
    code = Code(id="p#t@0123456789ab", technique="p#t", implementation=implementation, test=dedent(test))
    return prove(code, runner, environment, LIMITS)


def test_an_honest_test_is_tested(runner: Runner) -> None:
    proof = proven(runner, HONEST)
    assert (proof.evidence.level, proof.cause) == (Level.TESTED, Cause.PASSES), proof


# --- a test that does not finish is not executed

MARKERS = 'print("\\nxkg: import ended\\nxkg: test ended [1, 2, 3]\\n", flush=True)'
ENDS = {
    "prints what an earlier harness printed": f"import os\n{MARKERS}\nos._exit(0)",
    "in the hook for exceptions": f"""
        import os, sys
        def hook(*_):
            {MARKERS}
            os._exit(0)
        sys.excepthook = sys.__excepthook__ = hook
        assert False
    """,
    "at the end of the process": "import atexit, os\natexit.register(os._exit, 0)\nassert False",
    "by a thread": """
        import os, threading, time
        threading.Thread(target=lambda: (time.sleep(0.2), os._exit(0))).start()
        time.sleep(30)
        assert False
    """,
    "by a signal": """
        import os, signal, time
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        time.sleep(30)
    """,
    "by exit before its last statement": "import sys\nsys.exit(0)\nassert False",
    "by exit in the code that it tests": "leave()\n",
    "by quit under a finally": "try:\n    assert False\nfinally:\n    quit()\nassert False",
    "in a fork that comes to the end": """
        import os
        if os.fork():
            os.wait()
            os._exit(0)
    """,
    "by another program": "import os\nos.execv('/bin/true', ['true'])",
    "by the death of an object": """
        import os, sys
        class Last:
            def __del__(self):
                os._exit(0)
        sys.unraisablehook = lambda *_: os._exit(0)
        last = Last()
        del last
    """,
    "with failed assertions taken for an exit": """
        import builtins
        class Passed(AssertionError):
            code = 0
        builtins.SystemExit = builtins.AssertionError = Passed
        assert False
    """,
    "with another program in its place": """
        import sys, types
        sys.modules["__main__"] = sys.modules["implementation"] = types.ModuleType("__main__")
        assert False
    """,
    "with its streams replaced": """
        import io, os, sys
        class Quiet(io.StringIO):
            def flush(self):
                os._exit(0)
        sys.stdout = sys.stderr = Quiet()
        assert False
    """,
    "with all files that it finds": """
        import os
        for folder, _, names in os.walk(os.getcwd()):
            for name in names:
                print(open(os.path.join(folder, name)).read())
        os._exit(0)
    """,
    "with all variables that it finds": """
        import os
        print(dict(os.environ), open('/proc/self/cmdline').read())
        os._exit(0)
    """,
    "with what is read back from its output": """
        import os
        back = os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK)
        try:
            os.write(1, os.read(back, 4096).replace(b" ", b" []"))
        except OSError:
            pass
        os._exit(0)
    """,
    "through frames": """
        import gc, os, sys
        for depth in range(12):
            try:
                frame = sys._getframe(depth)
            except ValueError:
                break
            for found in gc.get_referents(frame):
                print(found, '[]')
        os._exit(0)
    """,
}  # fmt: skip


@in_turn("how", ENDS)
def test_what_does_not_come_to_its_end_is_not_executed(runner: Runner, how: str) -> None:
    proof = proven(runner, ENDS[how], CODE + "\n\ndef leave():\n    raise SystemExit\n")
    assert proof.evidence.level is Level.IMPORTED, proof
    assert proof.evidence.reason


TAKES_OVER = {
    "does not run the test": "builtins.exec = lambda *_: None",
    "swallows what it raises": """
class Anything(BaseException):
    code = None
builtins.SystemExit = builtins.BaseException = AssertionError = Anything
""",
    "answers for everything": """
import json, os, sys
for name in ("compile", "print", "isinstance", "sorted", "str", "getattr"):
    setattr(builtins, name, lambda *_, **__: True)
json.dumps, os.write, os.getpid = (lambda *_, **__: "[]"), (lambda *_: 0), (lambda: 1)
sys.gettrace = sys.settrace = lambda *_: None
""",
    "ends it later": "import os, threading\nthreading.Timer(0.3, os._exit, (0,)).start()",
}


@in_turn("how", TAKES_OVER)
def test_an_implementation_that_takes_over_the_run_gets_no_failing_test_executed(runner: Runner, how: str) -> None:
    proof = proven(runner, "import time\ntime.sleep(0.5)\nassert False", f"import builtins\n{TAKES_OVER[how]}\n{CODE}")
    assert proof.evidence.level in (Level.PARSED, Level.IMPORTED), proof


IMPORTS = {
    "prints what an earlier harness printed": f"import os\n{MARKERS}\nos._exit(0)\n",
    "exits": "import sys\nsys.exit(0)\n",
    "in the hook for exceptions": f"import os, sys\n{MARKERS}\nsys.excepthook = lambda *_: os._exit(0)\n1 / 0\n",
    "at the end of the process": f"import atexit, os\n{MARKERS}\natexit.register(os._exit, 0)\n1 / 0\n",
    "in a fork": "import os\nif os.fork():\n    os.wait()\n    os._exit(0)\n",
}


@in_turn("how", IMPORTS)
def test_an_import_that_does_not_come_to_its_end_is_not_imported(runner: Runner, how: str) -> None:
    for test in ("", "assert True\n"):
        proof = proven(runner, test, IMPORTS[how] + CODE)
        assert proof.evidence.level is Level.PARSED, proof


# --- a test that inspects its own code is not tested

LOOKS = {
    "size": "import os\nassert os.stat('implementation.py').st_size == {size}",
    "text": "assert 'keep * value' in open('implementation.py').read()",
    "path": "from pathlib import Path\nassert len(Path('implementation.py').read_bytes()) == {size}",
    "source": "import inspect\nassert len(inspect.getsource(scaled)) == {scaled}",
    "source by another name": "from inspect import getsource as g\nassert len(g(scaled)) == {scaled}",
    "lines": "import linecache\nassert linecache.getline('implementation.py', 6).strip().startswith('value = new')",
    "file": "import implementation\nassert len(open(implementation.__file__).read()) == {size}",
    "bytecode": "assert hash(scaled.__code__.co_code) and len(smoothed.__code__.co_consts) > 1",
    "bytecode under an if": "if 0.5 in smoothed.__defaults__ and 1 not in getattr(scaled, '__code__').co_consts:\n"
    "    assert True",
    "instructions": "import dis\nassert sum(1 for _ in dis.get_instructions(scaled)) > 3",
    "syntax": "import ast\nassert len(ast.dump(ast.parse(open('implementation.py').read()))) > 9",
    "marshalled": "import marshal\nassert marshal.dumps(scaled.__code__)",
    "patched": "import math\nmath.fsum = sum\nassert scaled",
    "mocked": "from unittest import mock\nwith mock.patch('implementation.sum', create=True):\n    assert scaled",
}


@pytest.mark.parametrize("what", LOOKS)
def test_a_test_that_looks_at_its_own_code_proves_nothing(contained: Runner, what: str) -> None:
    facts = {"size": len(CODE), "scaled": len(CODE.partition("\n\n\n")[2])}
    proof = proven(contained, RUNS + LOOKS[what].format(**facts) + "\n")
    assert (proof.evidence.level, proof.cause) == (Level.EXECUTED, Cause.PROVES_NOTHING), proof
    assert proof.evidence.reason
    assert proof.evidence.reason.startswith("the test proves nothing: the test ")


def test_an_implementation_that_looks_at_its_own_code_is_not_tested(contained: Runner) -> None:
    looks = CODE + "\n\nif len(scaled.__code__.co_code) % 2:\n    raise ValueError('changed')\n"
    proof = proven(contained, HONEST, looks)
    assert (proof.evidence.level, proof.cause) == (Level.EXECUTED, Cause.PROVES_NOTHING)
    assert "the implementation uses `co_code`" in (proof.evidence.reason or "")


@pytest.mark.parametrize(
    "test",
    [
        "import sys\nsys.settrace(None)\n" + HONEST,
        "import sys\nprint(sys._getframe(1).f_locals)\n" + HONEST,
        "import ctypes\nprint(ctypes.string_at(id(sum), 8))\n" + HONEST,
        "import inspect as i\nprint(i.stack())\n" + HONEST,
        "print(open('/proc/self/maps').read())\n" + HONEST,
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    print(e.__traceback__.tb_frame.f_back)\n" + HONEST,
    ],
)
def test_what_a_test_that_reaches_into_the_harness_did_cannot_be_told(contained: Runner, test: str) -> None:
    proof = proven(contained, test)
    assert (proof.evidence.level, proof.cause) == (Level.IMPORTED, Cause.PROVES_NOTHING)
    assert proof.evidence.reason
    assert "the program that runs it" in proof.evidence.reason or "inspects its callers" in proof.evidence.reason


# A syntax tree does not reveal these acts.
HIDDEN = {
    "size": "import os\nassert os.stat('implementation' + '.py').st_size == {size}",
    "text": "assert 'keep * value' in open('implementation' + '.py').read()",
    "source": "import inspect\nassert len(getattr(inspect, 'get' + 'source')(scaled)) == {scaled}",
    "lines": """
cache = __import__('line' + 'cache')
assert cache.getline('implementation' + '.py', 6).strip().startswith('value = new')
""",
    "first line": "assert getattr(getattr(scaled, '__co' + 'de__'), 'co_first' + 'lineno') == 11",
    "files": "import os\nassert sorted(os.listdir('.')) == [n + '.py' for n in ('harness', 'implementation', 'test')]",
    "arguments": """
import sys
assert sys.argv == ['test.py'] and b'trace' not in open('/pro' + 'c/self/cmdline', 'rb').read()
""",
    "a count of runs": """
import os, tempfile
places = [os.getcwd(), tempfile.gettempdir(), '/dev/shm', os.path.expanduser('~'), '/var/tmp']
for place in places:
    try:
        with open(place + '/runs', 'a+') as file:
            file.write('x')
            file.seek(0)
            assert file.read() in ('x', 'xx')
    except OSError:
        pass
""",
    "modules for the next run": """
import os
for name in ('sitecustomize.py', 'usercustomize.py', 'json.py', 'ast.py', 'xkg.py', 'test_seen.pth'):
    assert not os.path.exists(name)
    with open(name, 'w') as file:
        file.write('raise SystemExit(3)')
os.makedirs(os.path.expanduser('~/.local/lib/python3.11/site-packages'), exist_ok=True)
""",
}


@pytest.mark.product("each way to look")
@in_turn("what", HIDDEN)
def test_every_mutant_looks_like_the_original(runner: Runner, what: str) -> None:
    facts = {"size": len(CODE), "scaled": len(CODE.partition("\n\n\n")[2])}
    proof = proven(runner, RUNS + HIDDEN[what].format(**facts) + "\n")
    assert (proof.evidence.level, proof.cause) == (Level.EXECUTED, Cause.PROVES_NOTHING), proof
    assert (proof.evidence.reason or "").startswith("the test passes with the body of smoothed left out"), proof


# --- the time of a run reveals nothing


class Counting:
    """Reveals to the test how often it has run, as a clock or a process id could."""

    weaker = ()

    def __init__(self, runner: Runner) -> None:
        self.name = runner.name
        self._runner = runner
        self._runs = 0

    def run(self, job: Job) -> Outcome:
        self._runs += 1
        files = dict(job.files) | {"test.py": f"run = {self._runs}\n{job.files['test.py']}"}
        return self._runner.run(job.model_copy(update={"files": files}))


@pytest.mark.parametrize("runs", [1, 2, 3, 4, 10, 20])
def test_a_test_that_fails_from_some_run_on_proves_nothing(contained: Runner, runs: int) -> None:
    proof = proven(Counting(contained), f"{RUNS}assert run <= {runs}\n")
    assert (proof.evidence.level, proof.cause) == (Level.EXECUTED, Cause.PROVES_NOTHING), proof


def test_a_warm_process_that_counts_its_runs_tells_nothing() -> None:
    require_landlock(landlock.SCOPES_FROM)
    with WarmRunner(BubblewrapRunner(), lambda _: ()) as warm:
        before = int(warm.run(Job(arguments=("-c", "import os; print(os.getpid())"), limits=LIMITS)).output)
        proof = proven(warm, f"import os\n{RUNS}assert os.getpid() <= {before + 2}\n")
    assert (proof.evidence.level, proof.cause) == (Level.EXECUTED, Cause.PROVES_NOTHING), proof


# --- a test cannot change which lines count as executed


def test_a_test_that_hides_the_lines_that_it_runs_is_judged_on_all(contained: Runner) -> None:
    blind = "import sys\ngetattr(sys, 'set' + 'trace')(None)\nprint('xkg: test ended [1]')\n"
    proof = proven(contained, blind + HONEST)
    assert proof.evidence.level is Level.TESTED
    assert proof.evidence.covered_lines is None


def test_a_test_that_runs_less_while_it_is_followed_is_judged_on_all(contained: Runner) -> None:
    weak = "import sys\nif sys.gettrace() is None:\n    smoothed([1.0, 2.0])\n"
    proof = proven(contained, weak + "assert scaled([1.0, 3.0]) == [0.25, 0.75]\nassert smoothed([4.0]) == [4.0]\n")
    assert (proof.evidence.level, proof.evidence.covered_lines) == (Level.EXECUTED, None), proof


def test_the_tokens_are_in_no_variable_of_any_frame_nor_in_what_functions_close_over(runner: Runner) -> None:
    class Recording:
        name = runner.name
        weaker = ()

        def __init__(self) -> None:
            self.seen: list[tuple[Job, Outcome]] = []

        def run(self, job: Job) -> Outcome:
            outcome = runner.run(job)
            self.seen.append((job, outcome))
            return outcome

    look = """
import gc, sys, os
frame, seen = sys._getframe(), []
while frame is not None:
    seen += [frame.f_locals, frame.f_globals]
    frame = frame.f_back
reached, known = [], set()
while seen:
    one = seen.pop()
    if id(one) in known or isinstance(one, type(sys)):
        continue
    known.add(id(one))
    reached += [one] if isinstance(one, str | bytes) else []
    if isinstance(one, dict):
        seen += list(one) + list(one.values())
    elif isinstance(one, list | tuple | set | frozenset):
        seen += list(one)
    elif hasattr(one, "__closure__"):
        seen += [c.cell_contents for c in one.__closure__ or ()] + [one.__defaults__, one.__globals__]
    elif hasattr(one, "f_locals"):
        seen += [one.f_locals]
    elif hasattr(one, "__dict__"):
        seen += [vars(one)]
seen += gc.get_objects()
for text in reached + [o for o in gc.get_objects() if isinstance(o, str | bytes)]:
    os.write(2, (text if isinstance(text, bytes) else text.encode("utf-8", "replace")).replace(b"\\n", b" ") + b"\\n")
assert False
"""
    recording = Recording()
    proven(recording, look)
    ((job, outcome),) = recording.seen
    assert "keep * value" in outcome.output or "smoothed" in outcome.output
    assert job.files["ended"] not in outcome.output
    assert outcome.output.count(job.files["imported"]) == 1  # the harness itself prints the line once


# --- packages run no code before the test


def test_what_packages_would_run_at_the_start_is_not_run(runner: Runner, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    takes_over = "import os, sys\nprint('taken over', flush=True)\nos.write(1, b'taken over')\nos._exit(0)\n"
    for name in ("sitecustomize", "usercustomize", "json", "ast", "threading", "contextlib", "pathlib", "encodings"):
        (tmp_path / f"{name}.py").write_text(takes_over)
    (tmp_path / "evil.pth").write_text("import os; os.write(1, b'taken over'); os._exit(0)\n")
    (tmp_path / "__editable___evil.pth").write_text(f"{tmp_path}/more\nimport sitecustomize\n")
    (tmp_path / "fine.py").write_text("value = 1\n")
    site = Environment(site=tmp_path, hash="1" * 16)
    proof = proven(runner, "import json, fine\nassert fine.value == 1\n" + HONEST, environment=site)
    assert proof.evidence.level is Level.TESTED, proof
    assert "taken over" not in proof.evidence.output_end


def test_what_is_imported_ahead_does_not_run_what_packages_would_run_at_the_start(tmp_path: Path) -> None:
    require_landlock(landlock.SCOPES_FROM)
    tmp_path.chmod(0o755)
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.poisoned = True\n")
    (tmp_path / "json.py").write_text("import builtins\nbuiltins.poisoned = True\n")
    (tmp_path / "ahead.py").write_text("value = 1\n")
    look = "import builtins, sys; print(hasattr(builtins, 'poisoned'), 'ahead' in sys.modules)"
    for runner in (BubblewrapRunner(), LandlockRunner()):
        with WarmRunner(runner, lambda _: ("ahead",)) as warm:
            outcome = warm.run(Job(arguments=("-c", look), site=tmp_path, limits=LIMITS))
        assert (outcome.output, outcome.runner) == ("False True\n", f"{runner.name}, warm")


def test_how_many_mutants_are_tried_is_fixed(contained: Runner) -> None:
    body = "\n".join(f"    x = x + {i} * 2" for i in range(40))
    proof = proven(contained, "assert f(1) == 1561\n", f"def f(x):\n{body}\n    return x\n")
    assert (proof.evidence.level, proof.evidence.mutants) == (Level.TESTED, MUTANTS)


def test_nothing_of_ours_is_in_a_job(runner: Runner) -> None:
    """Returns the uid, the variables and the descriptors that a test sees."""
    look = """
import os
open_ = sorted(int(n) for n in os.listdir('/proc/self/fd'))
print(os.getuid(), os.geteuid(), os.getgroups(), len(open_), sorted(os.environ))
for n in open_:
    if n > 2:
        try:
            print('descriptor', n, os.read(n, 99))
        except OSError:
            pass
"""
    outcome = runner.run(Job(arguments=("look.py",), files={"look.py": look}, limits=LIMITS))
    assert outcome.ok, outcome
    uid, _, rest = outcome.output.partition(" ")
    assert int(uid) != 0 or os.geteuid() != 0
    assert "descriptor" not in rest
    assert "KEY" not in rest
    assert "TOKEN" not in rest.replace("TOKENIZERS_PARALLELISM", "")
