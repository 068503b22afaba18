"""Recognises runs that failed because there is no GPU."""

import re
from collections.abc import Iterable

_CUDA = re.compile(r"(?i)cuda|nvidia|nccl|nvcc|triton|\bgpus?\b")
_NOT_ON_CPU = re.compile(r"""_cpu\w{0,30}["'] not implemented for""")
_OPTION = re.compile(r"""["'](--?[\w-]{0,30}(?:cpu|cuda|gpu|device)[\w-]{0,30})["']""")
_MOST_OPTIONS = 3


def names_cuda(output: str, *, on_cpu: bool = False) -> bool:
    """Returns whether a run failed with an error about CUDA. If the error has no message, the line of code that raised
    it is checked instead. If `on_cpu` is set, also returns True for errors about torch functions that have no CPU
    implementation."""
    traceback = output.rpartition("Traceback (most recent call last):")[2]
    lines = [line for line in traceback.splitlines() if line.strip()]
    frames = [i for i, line in enumerate(lines) if line.lstrip().startswith('File "')]
    last = lines[frames[-1] + 1 :] if frames else lines[-1:]
    message = [line for line in last if not line.startswith(" ")]
    if any("No module named" in line for line in message):
        return False
    told = message if any(":" in line for line in message) or not frames else last
    return any(_CUDA.search(line) or (on_cpu and _NOT_ON_CPU.search(line)) for line in told)


def device_options(texts: Iterable[str]) -> list[str]:
    """Returns command-line options that may turn CUDA off. Options that mention the CPU or disable something come
    first."""
    found = dict.fromkeys(option for text in texts for option in _OPTION.findall(text))
    return sorted(found, key=lambda option: not re.search(r"cpu|no[_-]|disable", option))[:_MOST_OPTIONS]


def cuda_remedy(options: Iterable[str], *, on_cpu: bool) -> str:
    """Returns one line on how to fix a run that failed because there is no CUDA. `options` are the code's own
    command-line options. `on_cpu` means that the run already used the CPU instead of CUDA."""
    own = ", ".join(options)
    own = f"; the code's own option {own} may turn CUDA off" if own else ""
    if on_cpu:
        return f"CUDA kernels, Triton and NCCL cannot run on the CPU{own}"
    return f"it needs a GPU; pass --cpu to run its CUDA code on the CPU{own}"
