"""Short hints that explain to a person why a run failed."""

import posixpath
import re
import shlex
from collections.abc import Sequence

from xkg.agents.workspace.shell_line import started
from xkg.agents.workspace.workspace import Workspace
from xkg.sandbox.diagnosis.cuda_failures import cuda_remedy, device_options
from xkg.sandbox.diagnosis.downloads import Reached, is_of_network, stated_size
from xkg.sandbox.isolation.bubblewrap_mounts import HOME
from xkg.text.unicode import printable_line

_WRITES = re.compile(
    r"""["'][wax][bt+]{0,2}["']|\w{0,40}(?:save|dump|write|mkdir|to_csv|to_json|FileHandler)\w{0,40}\("""
)
_ABSENT = re.compile(r"No such file or directory: '([^'\n]{1,300})'|FileNotFoundError: ([^\s']{1,300}) not found")


def hint(
    output: str,
    command: str,
    workspace: Workspace,
    downloads: Sequence[Reached],
    refused: Sequence[str],
    *,
    cuda: bool,
    cpu: bool,
) -> str:
    """An explanation of a failed run with this output, '' for none. The run wanted `downloads` and was `refused` hosts;
    `cuda`: it failed because CUDA is missing, `cpu`: it ran on the CPU instead."""
    if refused:
        return f"it may not reach {', '.join(refused)}: add --allow-host for each that is to be reached"
    if downloads:
        return f"runs have no network, and it wants {_described(downloads[0], workspace, stated_size(output))}"
    if is_of_network(output):
        return "runs have no network"
    programs = started(command)
    if cuda:
        scripts = {path for program in programs if (path := program.script(workspace.files))}
        return cuda_remedy(device_options(workspace.text(path) for path in sorted(scripts)), on_cpu=cpu)
    traceback = output.rpartition("Traceback (most recent call last):")[2]
    if folder := missing_output_folder(output, command, workspace):
        made = shlex.quote(f"mkdir -p {shlex.quote(folder)}")
        return printable_line(f"here: --setup {made}, since it writes there")
    if absent := _ABSENT.findall(traceback):
        return _given(next(filter(None, absent[-1])), programs[-1].folder, workspace)
    return ""


def missing_output_folder(output: str, command: str, workspace: Workspace) -> str:
    """The folder that the repository lacks and in which a failed run with this output wanted to write a file; '' for
    none."""
    traceback = output.rpartition("Traceback (most recent call last):")[2]
    absent, programs = _ABSENT.findall(traceback), started(command)
    if not absent or not programs or not _WRITES.search(traceback):
        return ""
    folder = posixpath.dirname(_in_tree(next(filter(None, absent[-1])), programs[-1].folder))
    is_there = any(name.startswith(f"{folder}/") for name in workspace.files)
    return "" if not folder or is_there or folder.startswith("..") else folder


def _in_tree(path: str, folder: str) -> str:
    """A path that a program started in a folder of the tree names, relative to the tree."""
    tree = f"{HOME}/work"
    return posixpath.relpath(posixpath.normpath(posixpath.join(tree, folder, path)), tree)


def _given(path: str, folder: str, workspace: Workspace) -> str:
    """The options that give a run a file or folder that it names in the tree but does not find; empty if it exists."""
    inside = _in_tree(path, folder)
    if inside.startswith(".."):
        return f"runs see no files outside of the repository: let the code read {printable_line(path)} from inside"
    known = {place for name in workspace.files for place in _down_to(name)}
    absent = next((place for place in _down_to(inside) if place not in known), "")
    rest = inside.removeprefix(absent).strip("/")
    if not absent or inside == ".":
        return ""
    if not rest:
        return printable_line(f"here: --data {shlex.quote(f'{inside}=FILE')}")
    return printable_line(
        f"here: --data {shlex.quote(f'{absent}=FOLDER')}, which has {rest}, or a --setup command that makes it"
    )


def _down_to(path: str) -> list[str]:
    """The parent folders of a path from the top, and the path."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _described(wanted: Reached, workspace: Workspace, size: str) -> str:
    """A network request with its origin: `https://host/file (40 MB) for torchvision at train.py:8`, with that line."""
    path, _, line = wanted.place.rpartition(":")
    lines = workspace.text(path).splitlines() if path in workspace.files else []
    code = lines[int(line) - 1].strip()[:120] if line.isdigit() and 0 < int(line) <= len(lines) else ""
    of = f" for {wanted.library}" if wanted.library else ""
    at = f" at {wanted.place}" + (f", `{code}`" if code else "") if wanted.place else ""
    return printable_line(f"{wanted.address}{f' ({size})' if size else ''}{of}{at}")
