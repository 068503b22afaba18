"""Installs hostile wheels that try to write outside their own folder. The wheels, uv and the sandbox are real. The
wheels come from an index on loopback."""

import io
import json
import os
import stat
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.sandbox.index import Index, serving, wheel
from xkg.config import EnvironmentSettings
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.subprocess import UnsafeSubprocessRunner
from xkg.sandbox.packages.environments import UvEnvironments
from xkg.sandbox.runner import Environment, Job

FILE = "alpha-1.0-py3-none-any.whl"
INFO = "alpha-1.0.dist-info"


def made(index: Index, folder: Path, content: bytes, *names: str) -> Environment:
    index.files[FILE] = content
    maker = UvEnvironments(EnvironmentSettings(folder=folder / "kg" / "environments", max_mb=20), BubblewrapRunner())
    (folder / "beside").mkdir()
    environment = maker.make(["alpha", *names])
    assert sorted(place.name for place in folder.iterdir()) == ["beside", "kg"]
    assert not list((folder / "beside").iterdir())
    kept = {"making", "requests", "sets", ".lock", ".planning", environment.hash}
    assert {place.name for place in (folder / "kg" / "environments").iterdir()} <= kept
    assert not list(Path("/tmp").glob("pwned*"))
    if environment.site is not None:
        for place in environment.site.rglob("*"):
            mode = place.lstat().st_mode
            assert stat.S_ISREG(mode) or stat.S_ISDIR(mode), place
            assert not mode & (stat.S_ISUID | stat.S_ISGID), place
        job = Job(
            arguments=("-c", "import alpha, sys; print(alpha.value, 'pwned' in sys.modules)"), site=environment.site
        )
        outcome = BubblewrapRunner().run(job)
        assert outcome.output == "1 False\n", outcome.output
    return environment


def packed(
    *more: tuple[str | zipfile.ZipInfo, str | bytes], metadata: str = "", compression: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Creates a wheel of `alpha` with additional members. The members can have any names and modes."""
    buffer = io.BytesIO(wheel("alpha", "1.0", {"alpha.py": "value = 1\n"}))
    if metadata:
        buffer = io.BytesIO(without(buffer.getvalue(), f"{INFO}/METADATA"))
        more = ((f"{INFO}/METADATA", metadata), *more)
    with zipfile.ZipFile(buffer, "a", compression) as archive:
        for name, content in more:
            archive.writestr(name, content)
    return buffer.getvalue()


def without(content: bytes, left_out: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name != left_out:
                new.writestr(name, old.read(name))
    return buffer.getvalue()


def member(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    info.create_system = 3
    return info


RUNS = "import os; open('/tmp/pwned-by-pth', 'w').write('x'); os.environ['PWNED'] = '1'; import pwned\n"
WHEELS: Mapping[str, Callable[[], bytes]] = {
    "paths that lead out": lambda: packed(("../../pwned.py", "x = 1"), ("alpha/../../../pwned.py", "x = 1")),
    "paths from the root": lambda: packed(("/tmp/pwned", "x"), ("//tmp/pwned2", "x")),
    "backslashes": lambda: packed(("..\\..\\pwned.py", "x = 1")),
    "links": lambda: packed(
        (member("link.py", stat.S_IFLNK | 0o777), "/etc/passwd"),
        (member("alpha_folder", stat.S_IFLNK | 0o777), "/make"),
        ("alpha_folder/pwned.py", "x = 1"),
    ),
    "a link": lambda: packed((member("link.py", stat.S_IFLNK | 0o777), "/etc/passwd")),
    "pipes and rights": lambda: packed(
        (member("pipe.py", stat.S_IFIFO | 0o666), ""), (member("root.sh", stat.S_IFREG | 0o6777), "#!/bin/sh")
    ),
    "lines that are run": lambda: packed(
        ("zz.pth", RUNS),
        ("__editable__.pth", RUNS),
        ("sitecustomize.py", RUNS),
        ("usercustomize.py", RUNS),
        ("pwned.py", ""),
    ),
    "scripts and data": lambda: packed(
        ("alpha-1.0.data/scripts/../../../pwned", "#!python\n"),
        ("alpha-1.0.data/scripts/python3", "#!/bin/sh\ntouch /tmp/pwned-script\n"),
        ("alpha-1.0.data/data/../../pwned", "x"),
        ("alpha-1.0.data/data/etc/profile", "x"),
        ("alpha-1.0.data/purelib/../../../pwned.py", "x"),
    ),
    "entry points": lambda: packed(
        (f"{INFO}/entry_points.txt", "[console_scripts]\n../../../pwned = alpha:main\nuv = alpha:main\n[x\n")
    ),
    "a list of files that lies": lambda: packed((f"{INFO}/RECORD", "/etc/passwd,,\n../../../beside,,\n" * 1000)),
    "metadata of another": lambda: packed(metadata="Metadata-Version: 2.1\nName: beta\nVersion: 9\n"),
    "metadata that is none": lambda: packed(metadata="\0\xff: \n\n\n"),
    "metadata from elsewhere": lambda: packed(
        metadata="Metadata-Version: 2.1\nName: alpha\nVersion: 1.0\n"
        "Requires-Dist: beta @ file:///etc/passwd\nRequires-Dist: gamma @ git+file:///tmp\n"
    ),
    "metadata of 100 MB": lambda: packed(
        metadata="Metadata-Version: 2.1\nName: alpha\nVersion: 1.0\n\n" + "x" * 100_000_000
    ),
    "a requirement of itself": lambda: packed(
        metadata="Metadata-Version: 2.1\nName: alpha\nVersion: 1.0\nRequires-Dist: alpha[x]>=1\nProvides-Extra: x\n"
        "Requires-Dist: alpha[x]; extra == 'x'\n"
    ),
    "ten thousand requirements": lambda: packed(
        metadata="Metadata-Version: 2.1\nName: alpha\nVersion: 1.0\n"
        + "".join(f"Requires-Dist: alpha>=0.{n}\n" for n in range(10_000))
    ),
    "a hundred megabytes of nothing": lambda: packed(("alpha_data/zeros.bin", bytes(100 << 20))),
    "sizes that lie": lambda: lying(packed(("alpha_data/zeros.bin", bytes(60 << 20))), 60 << 20),
    "the same name twice": lambda: packed(("ALPHA.PY", "value = 2\n"), ("alpha.pyc", "x")),
    "no zip": lambda: b"PK\x03\x04" + os.urandom(1000),
    "two thousand files": lambda: packed(*((f"alpha_data/{n}.py", "") for n in range(2_000))),
}


def lying(content: bytes, size: int) -> bytes:
    """Creates a wheel whose list of files declares a small size for a large file."""
    return content.replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little"))


@pytest.mark.product("each hostile wheel")
@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", WHEELS)
def test_a_hostile_wheel_stays_in_its_folder_and_runs_nothing(index: Index, tmp_path: Path, kind: str) -> None:
    tmp_path.chmod(0o755)
    environment = made(index, tmp_path, WHEELS[kind]())
    assert environment.packages == ("alpha==1.0",) or "alpha" in environment.missing
    held = sum(place.lstat().st_size for place in tmp_path.rglob("*") if place.is_file() and "cache" not in place.parts)
    assert held < 40 << 20


# --- a compromised installer, which must have no more access than this

LOOKS = """
import json, os, pathlib
mounts = sorted(line.split()[4] for line in open("/proc/self/mountinfo"))
writable = [place for place in mounts if os.access(place, os.W_OK) and not place.startswith(("/proc", "/dev"))]
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
facts = {
    "uid": os.getuid(), "capabilities": int(status["CapEff"], 16), "groups": os.getgroups(), "writable": writable,
    "variables": sorted(os.environ), "homes": [p for p in ("/home", "/etc/shadow") if os.path.exists(p)],
}
answer = {"wheels": [], "missing": {"alpha": json.dumps(facts)}, "incomplete": False}
next(pathlib.Path("/make").glob("work-*")).joinpath("answer.json").write_text(json.dumps(answer))
"""


def taken_over(monkeypatch: pytest.MonkeyPatch, folder: Path, source: str) -> Environment:
    """Creates an environment in which `source` replaces the installer."""
    monkeypatch.setattr("xkg.sandbox.packages.installer_runs._INSTALLER", ("-I", "-c", source))
    maker = UvEnvironments(EnvironmentSettings(folder=folder / "environments", max_mb=20), BubblewrapRunner())
    return maker.make(["alpha"])


@pytest.mark.usefixtures("index")
def test_the_installer_has_no_rights_no_keys_and_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    facts = json.loads(taken_over(monkeypatch, tmp_path, LOOKS).missing["alpha"])
    assert facts["uid"] != 0
    assert facts["capabilities"] == 0
    assert facts["homes"] == []
    assert set(facts["writable"]) == {"/make", "/registry", "/tmp"}
    assert not [name for name in facts["variables"] if "KEY" in name or "SECRET" in name]


INSTEAD = {
    "a pipe": "os.mkfifo('answer.json')",
    "a link": "os.symlink({secret!r}, 'answer.json')",
    "a folder": "os.mkdir('answer.json')",
    "a file without end": "os.truncate(os.open('answer.json', os.O_CREAT | os.O_WRONLY), 19 << 20)",
    "a link to other packages": "os.symlink({folder!r}, 'site')",
    "a link in the place of all": "os.chdir('..'); os.rename(work, 'gone'); os.symlink({folder!r}, work)",
    "nothing": "os.chdir('..'); os.rename(work, 'gone')",
}
OWN_FOLDER = "import glob, os\n[work] = glob.glob('/make/work-*')\nos.chdir(work)\n"


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("what", INSTEAD)
def test_what_the_installer_leaves_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "site").mkdir()
    secret = beside / "secret.json"
    secret.write_text('{"wheels": [], "missing": {"alpha": "a secret was read"}, "incomplete": false}')
    secret.chmod(0o600)
    leave = INSTEAD[what].format(secret=str(secret), folder=str(beside))
    environment = taken_over(monkeypatch, tmp_path, f"{OWN_FOLDER}{leave}\n")
    assert environment.site is None
    assert "secret" not in environment.missing["alpha"]
    assert secret.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("index")
def test_after_a_broken_installer_the_next_is_made_as_usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave = INSTEAD["a link in the place of all"].format(folder=str(tmp_path))
    assert taken_over(monkeypatch, tmp_path, f"{OWN_FOLDER}{leave}\n").site is None
    monkeypatch.undo()
    with serving(Index()) as index:
        monkeypatch.setenv("UV_DEFAULT_INDEX", index.url)
        index.add("alpha", "1.0", {"alpha.py": ""})
        maker = UvEnvironments(EnvironmentSettings(folder=tmp_path / "environments", max_mb=20), BubblewrapRunner())
        assert maker.make(["alpha"]).packages == ("alpha==1.0",)


def test_without_a_box_uv_knows_no_key(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    seen = "import json, os, sys; json.dump({'wheels': [], 'missing': {'alpha': str(sorted(os.environ))}, "
    seen += "'incomplete': False}, open(json.load(open('request.json'))['answer'], 'w'))"
    monkeypatch.setattr("xkg.sandbox.packages.installer_runs._INSTALLER", ("-I", "-c", seen))
    maker = UvEnvironments(EnvironmentSettings(folder=tmp_path / "environments", max_mb=20), UnsafeSubprocessRunner())
    names = maker.make(["alpha"]).missing["alpha"]
    assert "UV_DEFAULT_INDEX" in names, index.url
    assert "OPENAI_API_KEY" not in names
