from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from xkg.build.package_versions import Checked, check_with_packages
from xkg.model import Code, Level
from xkg.sandbox.runner import Environment, Job, Limits, Outcome

IN_PACKAGE = """Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "/tmp/job/implementation.py", line 1, in <module>
    from flax import linen
  File "/site/flax/__init__.py", line 2, in <module>
    config.define_bool_state()
AttributeError: 'Config' object has no attribute 'define_bool_state'
"""
IN_DECORATOR = """Traceback (most recent call last):
  File "/tmp/job/implementation.py", line 2, in <module>
    @linen.compact
  File "/site/flax/linen.py", line 9, in compact
    raise TypeError("no")
TypeError: no
"""
REMOVED_FROM_PYTHON = """Traceback (most recent call last):
  File "/tmp/job/implementation.py", line 2, in <module>
    from collections import Mapping
ImportError: cannot import name 'Mapping' from 'collections' (/python/lib/python3.11/collections/__init__.py)
"""
OWN = """Traceback (most recent call last):
  File "/tmp/job/implementation.py", line 2, in <module>
    1 / 0
ZeroDivisionError: division by zero
"""
DAY = "2024-03-25"


class Fake:
    """Replaces the runner and the environment maker. The name of a job's environment decides how the job ends. Requests
    are recorded."""

    name = "fake"

    def __init__(self, *ends: str, missing: Mapping[str, str] | None = None, incomplete: bool = False) -> None:
        self.ends = ends
        self.asked: list[tuple[list[str], list[str], str | None]] = []
        self.missing = missing or {}
        self.incomplete = incomplete
        self.provided: dict[str, str] = {}

    def make(self, imports: Mapping[str, Sequence[str]], requirements: Sequence[str], day: str | None) -> Environment:
        self.asked.append((sorted(imports), list(requirements), day))
        number = len(self.asked) - 1
        pins = (f"flax=={number}.0", "numpy==2.0")
        return Environment(
            site=Path(f"/nowhere/{number}/site"),
            hash=f"h{number}",
            packages=pins,
            missing=self.missing,
            provided={name: pin for name, pin in self.provided.items() if name in imports},
            incomplete=self.incomplete,
            notes=("told by the maker",) if number == 0 else (),
        )

    def run(self, job: Job) -> Outcome:
        assert job.site is not None
        end = self.ends[int(job.site.parent.name)]
        passed = f"{job.files['imported']} \n{job.files['ended']} null\n"
        return Outcome(
            ended="exited", exit_code=1 if end else 0, output=end or passed,
            seconds=0, peak_memory_mb=0, runner="fake", command="python",
        )  # fmt: skip


def checked(fake: Fake, *sources: str, lines: Sequence[str] = ("flax==0.7",), day: str | None = DAY) -> Checked:
    nodes = [
        Code(id=str(n), technique="t", implementation=source, packages=("flax",) if "flax" in source else ())
        for n, source in enumerate(sources or ["from flax import linen\n"])
    ]
    return check_with_packages(nodes, fake, Limits(), fake.make, lines, day)


@pytest.mark.parametrize("failure", [IN_PACKAGE, IN_DECORATOR])
def test_a_package_that_fails_is_tried_in_other_versions(failure: str) -> None:
    fake = Fake(failure, "")
    result = checked(fake)
    assert [(node.level, node.evidence[-1].environment) for node in result.code] == [(Level.IMPORTED, "h1")]
    assert fake.asked[1:] == [(["flax"], ["flax"], DAY)]
    (told,) = [note for note in result.notes if "code nodes can be imported" in note]
    assert told.startswith("1 of 1 code nodes can be imported with packages not pinned to the repository's versions")
    assert "flax 1.0" in told
    assert failure.splitlines()[-1] in told


def test_the_newest_come_last_and_then_no_more() -> None:
    fake = Fake(IN_PACKAGE, IN_PACKAGE, IN_PACKAGE)
    result = checked(fake)
    assert [asked[1:] for asked in fake.asked] == [(["flax==0.7"], DAY), (["flax"], DAY), (["flax"], None)]
    assert [node.level for node in result.code] == [Level.PARSED]
    assert [node.evidence[-1].environment for node in result.code] == ["h0"]
    assert result.notes[0] == (
        "package flax not available: cannot be imported in this version; 1 code node stays at 'parsed' without it"
    )


@pytest.mark.parametrize("failure", [IN_PACKAGE, REMOVED_FROM_PYTHON])
def test_old_code_is_tried_on_the_python_of_its_time(failure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xkg.build.package_versions.installed", lambda: {"3.7": Path("/python3.7")})
    fake = Fake(*[failure] * (3 if failure == IN_PACKAGE else 1), "")
    result = checked(fake, day="2019-06-01")
    assert fake.asked[-1] == (["flax"], ["python==3.7.*", "flax"], "2019-06-01")
    assert [node.level for node in result.code] == [Level.IMPORTED]
    assert any("on Python 3.7, the current version when the code was written" in note for note in result.notes)
    monkeypatch.setattr("xkg.build.package_versions.installed", dict)
    fake = Fake(*[failure] * 3)
    assert [node.level for node in checked(fake, day="2019-06-01").code] == [Level.PARSED]


def test_a_module_that_is_missing_only_in_a_run_is_added() -> None:
    fake = Fake(IN_PACKAGE.replace("AttributeError: ", "ModuleNotFoundError: No module named 'msgpack'\n#"), "")
    fake.provided = {"msgpack": "msgpack==1"}
    result = checked(fake, "from flax import linen\n", "from flax import struct\n")
    assert [node.level for node in result.code] == [Level.IMPORTED, Level.IMPORTED]
    assert [asked[0] for asked in fake.asked] == [["flax"], ["flax", "msgpack"]]


def test_code_that_fails_by_itself_is_not_tried_again() -> None:
    fake = Fake(OWN)
    assert [node.level for node in checked(fake).code] == [Level.PARSED]
    assert len(fake.asked) == 1


def test_nothing_else_to_try() -> None:
    fake = Fake(IN_PACKAGE)
    checked(fake, lines=["flax"], day=None)
    assert len(fake.asked) == 1


def test_unavailable_packages_give_one_line_a_reason() -> None:
    missing = dict.fromkeys(["flax", "jax"], "the package registry cannot be reached")
    fake = Fake("", missing=missing, incomplete=True)
    result = checked(fake, "import flax, jax\n", "import os\n")
    assert result.notes[0] == (
        "packages flax, jax not available: the package registry cannot be reached; "
        "1 code node stays at 'parsed' without it; the next build will try again"
    )
    assert len([note for note in result.notes if "registry" in note]) == 1
    assert not result.final
    assert len(fake.asked) == 1
    assert [node.level for node in result.code] == [Level.PARSED, Level.IMPORTED]


def test_broken_code_asks_for_nothing() -> None:
    fake = Fake("")
    checked(fake, "import flax\nundefined_name\n", "import os\n")
    assert fake.asked == [([], ["flax==0.7"], DAY)]
