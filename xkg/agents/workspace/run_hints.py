"""Returns short hints for users about why a run failed."""

import posixpath
import re
import shlex
from collections.abc import Sequence

from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.program.shell_line import started
from xkg.sandbox.diagnosis.cuda_failures import cuda_remedy, device_options
from xkg.sandbox.diagnosis.downloads import Reached, is_of_network, stated_size
from xkg.sandbox.evidence.failure_causes import missing_modules
from xkg.sandbox.isolation.bubblewrap_mounts import HOME
from xkg.text.unicode import printable_line

_WRITES = re.compile(
    r"""["'][wax][bt+]{0,2}["']|\w{0,40}(?:save|dump|write|mkdir|to_csv|to_json|FileHandler)\w{0,40}\("""
)
PYTHON_2 = re.compile(r"Missing parentheses in call to '(?:print|exec)'|name '(?:xrange|raw_input|unicode)' is")
NO_DISPLAY = re.compile(r"NoSuchDisplay|[Cc]annot open display|no display name|could not connect to display")
_FRAME = re.compile(rf'File "(?:{HOME}/work/)?([^"\n]{{1,300}})", line (\d{{1,7}})')
_CALL = re.compile(r"\s*[\w.]{1,200}\(.*\)\s*")
_UNFOUND = re.compile(r"Error while finding module specification for '([\w.]{1,300})'")
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
    """Returns a hint about a failed run, or '' if no hint applies. `downloads` are the addresses that the run tried to
    reach. `refused` are the hosts that it was not allowed to reach. `cuda` means that the run failed because CUDA is
    missing. `cpu` means that the run used the CPU instead of CUDA."""
    if refused:
        return f"it is not allowed to reach {', '.join(refused)}; add --allow-host for each required host"
    if downloads:
        return f"runs have no network access, but it needs {_described(downloads[0], workspace, stated_size(output))}"
    if is_of_network(output):
        return "runs have no network access"
    programs = started(command)
    if cuda:
        scripts = {path for program in programs if (path := program.script(workspace.files))}
        return cuda_remedy(device_options(workspace.text(path) for path in sorted(scripts)), on_cpu=cpu)
    if any(word.endswith(".ipynb") for program in programs for word in program.words):
        return "a notebook is not a program; convert it, for example with jupyter nbconvert --to script"
    traceback = output.rpartition("Traceback (most recent call last):")[2]
    if "UnicodeDecodeError: 'utf-8' codec" in traceback:
        if "unexpected end of data" in traceback:
            return "download the whole file again, since it ends in the middle of a character"
        return (
            "convert the file that is not UTF-8 (iconv -f cp1252 FILE > t && mv t FILE), with --setup if it is "
            "in the repository, otherwise in the --data folder"
        )
    places = [(path, int(line)) for path, line in _FRAME.findall(output) if path in workspace.files]
    if places and PYTHON_2.search(output):
        convert = shlex.quote(f"python -m fissix -wn {shlex.quote(places[-1][0])}")
        return printable_line(f"pass --with fissix --setup {convert}, which converts the file")
    if places and NO_DISPLAY.search(traceback):
        return _without_line(*places[-1], workspace)
    if (unfound := _UNFOUND.search(output)) and (found := _elsewhere(unfound[1], workspace)):
        return found
    for module in missing_modules(traceback):
        if found := _in_other_case(module.partition(".")[0], workspace):
            return found
    if folder := missing_output_folder(output, command, workspace):
        made = shlex.quote(f"mkdir -p {shlex.quote(folder)}")
        return printable_line(f"pass --setup {made}, since the code writes to this folder")
    if absent := _ABSENT.findall(traceback):
        return _given(next(filter(None, absent[-1])), programs[-1].folder, workspace)
    return ""


def missing_output_folder(output: str, command: str, workspace: Workspace) -> str:
    """Returns the missing folder that a failed run tried to write a file to, or '' if no folder is missing."""
    traceback = output.rpartition("Traceback (most recent call last):")[2]
    absent, programs = _ABSENT.findall(traceback), started(command)
    if not absent or not programs or not _WRITES.search(traceback):
        return ""
    folder = posixpath.dirname(_in_tree(next(filter(None, absent[-1])), programs[-1].folder))
    is_there = any(name.startswith(f"{folder}/") for name in workspace.files)
    return "" if not folder or is_there or folder.startswith("..") else folder


def _without_line(path: str, number: int, workspace: Workspace) -> str:
    """Returns the option that removes a line from the file if the line is a call whose result is unused. Otherwise,
    returns ''."""
    line = "".join(workspace.text(path).split("\n")[number - 1 : number])
    if not _CALL.fullmatch(line):
        return ""
    edit = shlex.quote(f"sed -i {number}s/[[:graph:]].*/pass/ {shlex.quote(path)}")
    return printable_line(f"pass --setup {edit}, since this line needs a display")


def _elsewhere(module: str, workspace: Workspace) -> str:
    """Returns a hint about a repository file with the name of a module that `python -m` did not find. Returns '' if
    there is no such file."""
    name = f"{module.rpartition('.')[2]}.py"
    places = sorted(path for path in workspace.files if posixpath.basename(path) == name)
    return printable_line(f"the repository has it as {places[0]}; use that file in --run") if places else ""


def _in_other_case(module: str, workspace: Workspace) -> str:
    """Returns the option that provides a module whose file or folder name differs only in case, or '' if there is none.
    Case-insensitive file systems accept such a name."""
    for place in sorted({place for name in workspace.files for place in _down_to(name)}):
        folder, name = posixpath.split(place)
        stem, ending = posixpath.splitext(name)
        if stem != module and stem.casefold() == module.casefold() and ending in ("", ".py"):
            copy = shlex.join(["cp", "-r", place, posixpath.join(folder, module + ending)])
            return printable_line(f"pass --setup {shlex.quote(copy)}, since names are case-sensitive")
    return ""


def _in_tree(path: str, folder: str) -> str:
    tree = f"{HOME}/work"
    return posixpath.relpath(posixpath.normpath(posixpath.join(tree, folder, path)), tree)


def _given(path: str, folder: str, workspace: Workspace) -> str:
    """Returns the options that provide a file or folder that a run did not find in the tree. Returns '' if the path
    exists."""
    inside = _in_tree(path, folder)
    if inside.startswith(".."):
        return (
            f"runs cannot see files outside the repository; move {printable_line(path)} into the repository, and "
            "change the path in the code"
        )
    known = {place for name in workspace.files for place in _down_to(name)}
    if (plain := posixpath.normpath(inside.replace("\\", "/"))) != inside and plain in known:
        return printable_line(f"a Windows path: the repository has {plain}, so correct that line")
    absent = next((place for place in _down_to(inside) if place not in known), "")
    rest = inside.removeprefix(absent).strip("/")
    if not absent or inside == ".":
        return ""
    if not rest:
        return printable_line(f"pass --data {shlex.quote(f'{inside}=FILE')}")
    return printable_line(
        f"pass --data {shlex.quote(f'{absent}=FOLDER')} containing {rest}, or a --setup command that creates it"
    )


def _down_to(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _described(wanted: Reached, workspace: Workspace, size: str) -> str:
    """Describes a network request and its origin, including the source line, as in `https://host/file (40 MB) for
    torchvision at train.py:8`."""
    path, _, line = wanted.place.rpartition(":")
    lines = workspace.text(path).splitlines() if path in workspace.files else []
    code = lines[int(line) - 1].strip()[:120] if line.isdigit() and 0 < int(line) <= len(lines) else ""
    of = f" for {wanted.library}" if wanted.library else ""
    at = f" at {wanted.place}" + (f", `{code}`" if code else "") if wanted.place else ""
    return printable_line(f"{wanted.address}{f' ({size})' if size else ''}{of}{at}")
