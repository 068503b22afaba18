from datetime import datetime
from pathlib import Path

import pytest

from xkg.build.package_versions import check_code
from xkg.model import Code, Evidence, Level
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.runner import Environment, Limits

LIMITS = Limits(seconds=20, memory_mb=300)
NOTHING = Environment(site=None, hash="0123456789abcdef")


def checked(source: str, environment: Environment = NOTHING, *, contained: bool = True) -> tuple[Code, Evidence]:
    candidate = Code(id="p#t@1", technique="p#t", implementation=source)
    (code,) = check_code([candidate], BubblewrapRunner() if contained else None, environment, LIMITS)
    (evidence,) = code.evidence
    assert code.level is evidence.level
    assert evidence.checked_at is not None
    assert datetime.fromisoformat(evidence.checked_at).utcoffset() is not None
    return code, evidence


@pytest.mark.parametrize(
    ("source", "blamed"),
    [
        ("import absent_package\n", ("absent_package",)),
        ("import importlib\nimportlib.import_module('absent_package')\n", ("absent_package",)),
        ("import broken_package\n", ("broken_package",)),
        ("from broken_package.part import (\n    x,\n    y,\n)\n", ("broken_package",)),
        ("from sound_package import gone_since\n", ("sound_package",)),
        ("import sound_package\nsound_package.call()\n", ()),
        ("import sound_package\nsound_package.gone_since\n", ()),
        ("from collections import gone_since\n", ()),
        ("try:\n    import absent_package\nexcept ImportError:\n    raise ValueError('none')\n", ()),
    ],
)
def test_a_package_that_does_not_import_is_missing(tmp_path: Path, source: str, blamed: tuple[str, ...]) -> None:
    site = tmp_path / "site"
    site.mkdir()
    tmp_path.chmod(0o755)
    (site / "broken_package.py").write_text("from sound_package import call\ncall()\n")
    (site / "sound_package.py").write_text("def call():\n    raise RuntimeError('called')\n")
    code, evidence = checked(source, Environment(site=site, hash="ab" * 8))
    assert code.level is Level.PARSED
    assert evidence.missing == blamed
    assert evidence.reason
    assert "\n" not in evidence.reason
    assert all(name in evidence.reason for name in blamed)


def test_without_a_sandbox_nothing_is_run_and_the_evidence_says_so(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    code, evidence = checked(f"open({str(mark)!r}, 'w')\n", contained=False)
    assert code.level is Level.PARSED
    assert evidence.reason == "not run: no sandbox on this machine (xkg doctor)"
    assert not mark.exists()
    assert checked("x = undefined\n", contained=False)[1].reason == "undefined: undefined"


def test_each_code_node_gets_its_own_level_in_order() -> None:
    sources = ["x = 1\n", "x = \n", "1 / 0\n", "y = 2\n"]
    nodes = [Code(id=f"p#{n}@1", technique=f"p#{n}", implementation=s) for n, s in enumerate(sources)]
    levels = [(c.technique, c.level) for c in check_code(nodes, BubblewrapRunner(), NOTHING, LIMITS)]
    expected = [Level.IMPORTED, Level.NONE, Level.PARSED, Level.IMPORTED]
    assert levels == [(f"p#{n}", level) for n, level in enumerate(expected)]


def test_what_is_no_python_is_not_tried_and_says_so() -> None:
    kernel = Code(id="p#t@1", technique="p#t", implementation="x = 1", language="cuda")
    (code,) = check_code([kernel], BubblewrapRunner(), NOTHING, LIMITS)
    assert code.level is Level.NONE
    assert code.evidence[0].reason == "not tried: cuda code, since only Python is sliced and run"
