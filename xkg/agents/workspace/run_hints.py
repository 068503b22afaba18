"""What a person has to know about runs to understand why one failed, in a few words."""

from collections.abc import Sequence

from xkg.agents.workspace.shell_line import started
from xkg.agents.workspace.workspace import Workspace
from xkg.sandbox.diagnosis.cuda_failures import cuda_remedy, device_options
from xkg.sandbox.diagnosis.downloads import Reached, is_of_network, stated_size
from xkg.text.unicode import printable_line


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
    """An explanation of a failed run with this output, empty for none. It wanted `downloads` and was `refused` hosts;
    `cuda`: it failed for want of CUDA, `cpu`: it ran on the CPU in place of that."""
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
    if any(word.endswith(".ipynb") for program in programs for word in program.words):
        return "a notebook is no program: convert it, as by jupyter nbconvert --to script"
    return ""


def _described(wanted: Reached, workspace: Workspace, size: str) -> str:
    """What code wants from the network, and for whom: `https://host/file (40 MB) for torchvision at train.py:8`, with
    that line."""
    path, _, line = wanted.place.rpartition(":")
    lines = workspace.text(path).splitlines() if path in workspace.files else []
    code = lines[int(line) - 1].strip()[:120] if line.isdigit() and 0 < int(line) <= len(lines) else ""
    of = f" for {wanted.library}" if wanted.library else ""
    at = f" at {wanted.place}" + (f", `{code}`" if code else "") if wanted.place else ""
    return printable_line(f"{wanted.address}{f' ({size})' if size else ''}{of}{at}")
