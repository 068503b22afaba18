import pytest

from xkg.agents.ablation.failures import failure_of
from xkg.agents.workspace.command import RunResult

TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    size_mismatch()\n'


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (f"dimension of the data: 3\n{TRACEBACK}NameError: name 'x' is not defined\n", "error"),
        (f"{TRACEBACK}RuntimeError: size mismatch, m1: 3\n", "shape"),
        (
            f"{TRACEBACK}urllib.error.URLError: <urlopen error>\n\nDuring handling of the above exception, another "
            f"exception occurred:\n\n{TRACEBACK}RuntimeError: Error downloading a.gz\n",
            "needs the network",
        ),
        ("loading\ncould not open a.csv: No such file or directory\nended\n", "missing data"),
    ],
)
def test_the_kind_of_a_failure_is_that_of_what_was_raised(output: str, kind: str) -> None:
    result = RunResult(command="", ended="exited", exit_code=1, output=output, seconds=1, peak_memory_mb=1)
    assert failure_of(result) == kind
