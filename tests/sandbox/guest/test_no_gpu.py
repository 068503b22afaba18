"""Tests the replacement for CUDA with fakes of the parts of torch and jax that it changes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from xkg.sandbox.guest.source import guest_source

FAKE_TORCH = '''
import types


class device:
    def __init__(self, name):
        self.type = str(name).partition(":")[0]


class Tensor:
    def __init__(self, values):
        self.values = list(values)

    def to(self, *where, device=None):
        if "cuda" in (getattr(each, "type", each) for each in (*where, device)):
            raise RuntimeError("Found no NVIDIA driver")
        return self

    def cpu(self):
        return self

    def clone(self):
        return Tensor(self.values)

    def cuda(self):
        raise RuntimeError("Found no NVIDIA driver")

    def new_zeros(self, size, device=None):
        return zeros(size, device=device)

    def type(self, name):
        return name


def zeros(size, *, device=None, pin_memory=False):
    """device (:class:`torch.device`, optional): where it is"""
    if pin_memory or (device is not None and str(getattr(device, "type", device)).startswith(("cuda", "0"))):
        raise RuntimeError("Found no NVIDIA driver")
    return Tensor([0] * size)


def manual(size, device):
    if device == "cuda":
        raise RuntimeError("CUDA kernels cannot run")


class Generator:
    def __init__(self, where="cpu"):
        self.where = where


class serialization:
    found = []

    @classmethod
    def register_package(cls, priority, tagger, restore):
        cls.found.append(restore)


class FloatTensor(Tensor):
    pass


def _needs_driver(*_):
    raise RuntimeError("Found no NVIDIA driver")


fft = len  # a function before torch 1.7
cuda = types.SimpleNamespace()
for _name in ("synchronize", "current_device", "get_device_name", "memory_reserved", "set_device"):
    setattr(cuda, _name, _needs_driver)
cuda.is_available, cuda.device_count, cuda.FloatTensor = (lambda: False), (lambda: 0), None
'''
FAKE_LIBRARY = "import torch\n\n\ndef sees():\n    return torch.cuda.is_available(), torch.cuda.device_count()\n"
SCRIPT = """
import json
import jax
import torch
import library

x = torch.Tensor([1, 2])
moved, snapshot = x.cuda().to("cuda:1").to(torch.device("cuda")).to(0), x.cpu()
x.values[0] = 5
with torch.cuda.stream(torch.cuda.Stream()):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event()
    start.record()
    end.record()
    torch.cuda.synchronize()
try:
    torch.manual(1, "cuda")
    refused = ""
except RuntimeError as error:
    refused = str(error)
print(json.dumps({
    "made": [len(torch.zeros(2, device=where, pin_memory=True).values) for where in ("cuda", 0, torch.device("cuda"))],
    "new": len(x.new_zeros(3, device="cuda:0").values),
    "same": moved is x,
    "snapshot": [snapshot.values[0], x.to("cpu") is x],
    "type": x.type("torch.cuda.FloatTensor"),
    "code": [torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.current_device()],
    "packages": library.sees(),
    "generator": [torch.Generator("cuda").where, isinstance(torch.Generator(), torch.Generator)],
    "stored": [restore("bytes", "cuda:0") for restore in torch.serialization.found],
    "types": torch.cuda.FloatTensor is torch.FloatTensor,
    "time": end.elapsed_time(start) <= 0,
    "name": torch.cuda.get_device_name(0),
    "refused": refused,
    "jax": jax._src.xla_bridge._alias_to_platforms["gpu"],
}))
"""


def run(folder: Path, *arguments: str) -> dict[str, Any]:
    packages = folder / "packages"
    files = {"torch/__init__.py": FAKE_TORCH, "library.py": FAKE_LIBRARY, "jax/_src/__init__.py": ""}
    files |= {"jax/_src/xla_bridge.py": "_alias_to_platforms = {'gpu': ['cuda', 'rocm']}\n"}
    files |= {"jax/__init__.py": "import jax._src.xla_bridge\n"}
    for name, text in files.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(text)
    (folder / "no_gpu.py").write_text(guest_source("no_gpu"))
    (folder / "train.py").write_text(SCRIPT)
    start = f"import sys; sys.path += [{str(packages)!r}, {str(folder)!r}]; "
    ran = subprocess.run(
        [sys.executable, "-I", "-c", start + "".join(arguments)], capture_output=True, text=True, check=True, cwd=folder
    )
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_cuda_is_the_cpu_to_code_and_absent_to_packages(tmp_path: Path) -> None:
    found = run(tmp_path, "import no_gpu, runpy; runpy.run_path('train.py')")
    assert found.pop("time")
    assert found == {
        "made": [2, 2, 2],
        "new": 3,
        "same": True,
        "snapshot": [1, False],
        "type": "torch.FloatTensor",
        "code": [True, 1, 0],
        "packages": [False, 0],
        "generator": ["cpu", True],
        "stored": ["bytes"],
        "types": True,
        "name": "CPU in place of CUDA",
        "refused": "CUDA kernels cannot run",
        "jax": ["cpu"],
    }


def test_libraries_that_were_imported_before_are_changed_too(tmp_path: Path) -> None:
    found = run(tmp_path, "import torch, jax, no_gpu, runpy; runpy.run_path('train.py')")
    assert found["made"] == [2, 2, 2]
    assert found["jax"] == ["cpu"]
