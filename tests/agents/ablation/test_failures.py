import pytest

from xkg.agents.ablation.failures import Failure, advice_on, failure_of, metric_failure
from xkg.agents.workspace.command import RunResult
from xkg.agents.workspace.program.metric import Metric
from xkg.errors import MetricError
from xkg.sandbox.isolation.bubblewrap_mounts import HOME

TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    size_mismatch()\n'


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (f"dimension of the data: 3\n{TRACEBACK}NameError: name 'x' is not defined\n", "error"),
        (f"{TRACEBACK}RuntimeError: size mismatch, m1: 3\n", "shape"),
        (f"{TRACEBACK}tarfile.ReadError: unexpected end of data\n", "broken checkpoint"),
        (
            f"{TRACEBACK}urllib.error.URLError: <urlopen error>\n\nDuring handling of the above exception, another "
            f"exception occurred:\n\n{TRACEBACK}RuntimeError: Error downloading a.gz\n",
            "needs the network",
        ),
        (
            f"{TRACEBACK}ImportError: libGL.so.1: cannot open shared object file: No such file or directory\n",
            "missing library",
        ),
        (f"{TRACEBACK}UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe2: unexpected end of data\n", "error"),
        (f"{TRACEBACK}AttributeError: module 'tensorflow' has no attribute 'truncated_normal'\n", "removed API"),
        (
            "fatal: unable to access 'https://git.example.org/': Could not resolve host: git.example.org\n",
            "needs the network",
        ),
        (f"{TRACEBACK}_tkinter.TclError: no display name and no $DISPLAY environment variable\n", "needs a display"),
        ("loading\ncould not open a.csv: No such file or directory\nended\n", "missing data"),
    ],
)
def test_the_kind_of_a_failure_is_that_of_what_was_raised(output: str, kind: str) -> None:
    assert failure_of(_failed(output)) == kind


@pytest.mark.parametrize(
    ("kind", "error", "advice"),
    [
        (
            "removed API",
            "AttributeError: module 'numpy' has no attribute 'int'.\n`np.int` was a deprecated alias for the builtin.",
            "--with 'numpy<1.24'",
        ),
        (
            "removed API",
            "ImportError: `load_boston` has been removed from scikit-learn since version 1.2.",
            "--with 'scikit-learn<1.2'",
        ),
        ("removed API", "RuntimeError: version v3 of `Taxi` is deprecated", "--with 'PACKAGE<VERSION'"),
        ("removed API", "ModuleNotFoundError: No module named 'sklearn.externals'", "--with 'scikit-learn<VERSION'"),
        ("missing package", "ImportError: tables is missing: run `pip install tables`", "--with tables"),
        ("missing package", "DependencyNotInstalled: run `pip install gym[box2d]`", "--with PACKAGE"),
        ("missing package", "ModuleNotFoundError: No module named 'sklearn'", "--with scikit-learn"),
    ],
)
def test_the_advice_names_the_package_and_version(kind: Failure, error: str, advice: str) -> None:
    assert advice in advice_on(kind, f"{TRACEBACK}{error}\n")


def _failed(output: str) -> RunResult:
    return RunResult(command="", ended="exited", exit_code=1, output=output, seconds=1)


FILES = {
    "nets.py": b"class Ring(nn.Module):\n    def __init__(self, radius): ...\n\n\ndef scale(x):\n    return x\n",
    "train.py": b"",
}


@pytest.mark.parametrize(
    ("place", "code", "message", "kind"),
    [
        ("work/train.py", "scale(1, by=2)", "scale() got an unexpected keyword argument 'by'", "own error"),
        ("work/train.py", "Ring(r=2)", "Ring.__init__() got an unexpected keyword argument 'r'", "own error"),
        ("work/train.py", "Ring(r=2)", "__init__() got an unexpected keyword argument 'r'", "own error"),
        ("work/train.py", "scale()", "scale() missing 1 required positional argument: 'x'", "own error"),
        ("work/train.py", "nn.Linear(b=1)", "Linear.__init__() got an unexpected keyword argument 'b'", "removed API"),
        ("site/lib.py", "scale(x, by=2)", "scale() got an unexpected keyword argument 'by'", "removed API"),
    ],
)
def test_a_call_that_the_repository_makes_of_its_own_function_is_its_own_error(
    place: str, code: str, message: str, kind: str
) -> None:
    frame = f'  File "{HOME}/{place}", line 1, in <module>\n    {code}\n'
    output = f"Traceback (most recent call last):\n{frame}TypeError: {message}\n"
    assert failure_of(_failed(output), FILES) == kind


@pytest.mark.parametrize(("module", "kind"), [("parts.grid", "own error"), ("scipy.misc.face", "removed API")])
def test_a_module_that_the_repository_itself_lacks_is_its_own_error(module: str, kind: str) -> None:
    output = f"{TRACEBACK}ModuleNotFoundError: No module named '{module}'\n"
    assert failure_of(_failed(output), {"src/parts/net.py": b"", "train.py": b""}) == kind


@pytest.mark.parametrize(
    ("output", "kind"), [("saved\n", "no metric"), ("step 3\n", "no metric"), ("loss: nan\n", "not a number")]
)
def test_a_run_that_prints_no_value_is_told_from_one_that_diverges(output: str, kind: str) -> None:
    with pytest.raises(MetricError) as raised:
        Metric.parse(r"loss: (\S+):min").read(output, {})
    assert metric_failure(str(raised.value), output) == kind
