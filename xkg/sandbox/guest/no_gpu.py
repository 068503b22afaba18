"""Lets code written for CUDA run on the CPU. Runs in a sandboxed Python process before the process's own code. Uses
only the standard library, and supports Python 3.7 and later.

Each library is patched in memory on import. Neither the library's files nor the code are changed. torch functions and
methods that take a device receive `cpu` instead of a CUDA device. Tensor types, generators and stored tensors are also
mapped to the CPU, and `torch.cuda` functions that need a driver do nothing. To the code, CUDA appears to be available
with one device. Installed packages see no CUDA, so they use their CPU paths. In jax, the GPU platforms become aliases
of the CPU. TensorFlow assigns operations to devices itself, so the patch only adds a GPU to TensorFlow's list of
devices.

A copy from the GPU (`x.cpu()`) is still a copy, so it does not change when training continues."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
import types

TYPE_CHECKING = False  # importing `typing` takes as long as the rest of this module
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_DOCUMENTED = "device (:class:`torch.device`"
_PARTS_OF_DEVICES = ("set_logical_device_configuration", "set_virtual_device_configuration")
_DO_NOTHING = ("set_", "reset_", "init", "ipc_", "synchronize", "empty_", "range_", "mark", "check_error")


class AfterImport:
    """When a module is imported, calls its patch functions. Errors are caught separately for each patch, so a
    missing interface in one library version does not prevent the other patches."""

    def __init__(self, changes: dict[str, tuple[Callable[[Any], None], ...]]) -> None:
        self._changes = changes

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name not in self._changes:
            return None
        finders = [finder for finder in sys.meta_path if finder is not self]
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in finders)), None)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            self.apply(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def apply(self, module: Any) -> None:
        for change in self._changes[module.__name__]:
            with contextlib.suppress(Exception):
                change(module)


class Nothing:
    """A stand-in for objects that control a GPU, such as streams. Accepts any arguments and does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> Nothing:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


class Event(Nothing):
    """A CUDA event that stores the time at which it was recorded."""

    at = 0.0

    def record(self, *_: Any) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        """Returns the elapsed time in milliseconds."""
        return 1000 * (end.at - self.at)

    def query(self) -> bool:
        return True


class Torch:
    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.packages = os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__))) + os.sep  # noqa: PTH100, PTH120

    def device(self, value: Any) -> Any:
        """Returns `cpu` for a CUDA device, the CPU tensor type for a CUDA tensor type, and any other value
        unchanged."""
        if isinstance(value, self.torch.device):
            return self.torch.device("cpu") if value.type == "cuda" else value
        if isinstance(value, str):
            if value.startswith("torch.cuda."):
                return value.replace("torch.cuda.", "torch.", 1)
            return "cpu" if value.partition(":")[0] == "cuda" else value
        return value

    def on_cpu(self, function: Any) -> Any:
        """Wraps a function so that it never receives a CUDA device."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs:
                at = kwargs.get("device")
                if at is not None:
                    kwargs["device"] = "cpu" if type(at) is int else self.device(at)  # a number denotes a GPU
                if kwargs.get("pin_memory"):
                    kwargs["pin_memory"] = False
            return function(*map(self.device, args), **kwargs)

        return call

    def functions(self) -> None:
        torch = self.torch
        for place, name, function in list(self.documented()):
            wrapped = self.on_cpu(function)
            setattr(place, name, wrapped)
            with contextlib.suppress(Exception):  # torch's compiler looks up its builtins by identity
                known = torch.jit._builtins._find_builtin(function)
                if known is not None:
                    torch.jit._builtins._register_builtin(wrapped, known)

    def documented(self) -> Iterator[tuple[Any, str, Any]]:
        """Yields the functions that take a device, as (module, name, function)."""
        for place in (self.torch, getattr(self.torch, "fft", None)):
            # Before torch 1.7, `fft` is a function.
            for name, function in list(getattr(place, "__dict__", {}).items()):
                if isinstance(function, (types.BuiltinFunctionType, types.FunctionType)) and _DOCUMENTED in (
                    function.__doc__ or ""
                ):
                    yield place, name, function

    def defaults(self) -> None:
        for name in ("set_default_tensor_type", "set_default_device"):
            if hasattr(self.torch, name):
                setattr(self.torch, name, self.on_cpu(getattr(self.torch, name)))

    def methods(self) -> None:
        tensor = self.torch.Tensor
        for name in dir(tensor):
            if name == "type" or name.startswith("new"):
                setattr(tensor, name, self.on_cpu(getattr(tensor, name)))
        to, cpu = self.on_cpu(tensor.to), tensor.cpu

        @functools.wraps(tensor.to)
        def moved(self: Any, *args: Any, **kwargs: Any) -> Any:
            named = [each for each in (*args[:1], kwargs.get("device")) if isinstance(each, str)]
            if args and type(args[0]) is int:
                args = ("cpu", *args[1:])
            found = to(self, *args, **kwargs)
            return found.clone() if found is self and named == ["cpu"] else found

        @functools.wraps(cpu)
        def copied(self: Any, *args: Any, **kwargs: Any) -> Any:
            found = cpu(self, *args, **kwargs)
            return found.clone() if found is self else found

        tensor.to, tensor.cpu = moved, copied
        tensor.cuda = tensor.pin_memory = lambda self, *_, **__: self
        tensor.record_stream = lambda *_, **__: None

    def storages(self) -> None:
        self.torch.serialization.register_package(
            1, lambda _: None, lambda stored, place: stored if str(place).startswith("cuda") else None
        )
        for name in ("_StorageBase", "UntypedStorage", "_UntypedStorage", "TypedStorage", "_TypedStorage"):
            kind = getattr(self.torch.storage, name, None)
            if kind is not None:
                kind.cuda = lambda self, *_, **__: self

    def generators(self) -> None:
        own, device = self.torch.Generator, self.device

        class Kind(type(own)):  # type: ignore[misc]
            def __instancecheck__(cls, value: object) -> bool:
                return isinstance(value, own)

        class Generator(own, metaclass=Kind):  # type: ignore[misc,valid-type]
            def __new__(cls, at: Any = "cpu", **kwargs: Any) -> Any:
                at = kwargs.get("device", at)
                return own("cpu" if type(at) is int else device(at))

        self.torch.Generator = Generator

    def types(self) -> None:
        for name in dir(self.torch.cuda):
            if name.endswith("Tensor") and hasattr(self.torch, name):
                setattr(self.torch.cuda, name, getattr(self.torch, name))

    def presence(self) -> None:
        """Makes torch report one CUDA device, except to installed packages."""
        for name, here in (("is_available", True), ("device_count", 1)):
            setattr(self.torch.cuda, name, self.to_the_code(getattr(self.torch.cuda, name), here))

    def to_the_code(self, function: Any, answer: Any) -> Any:
        packages = self.packages

        @functools.wraps(function)
        def call() -> Any:
            asking = os.path.abspath(sys._getframe(1).f_code.co_filename)  # noqa: PTH100
            return function() if asking.startswith(packages) else answer

        return call

    def cuda(self) -> None:
        torch, cuda = self.torch, self.torch.cuda
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        here = types.SimpleNamespace(
            name="CPU in place of CUDA", total_memory=memory, major=0, minor=0, multi_processor_count=os.cpu_count()
        )
        answers = {
            "current_device": 0,
            "get_device_name": here.name,
            "get_device_capability": (0, 0),
            "get_device_properties": here,
            "mem_get_info": (memory, memory),
            "current_stream": Nothing(),
            "default_stream": Nothing(),
            "utilization": 0,
            "memory_reserved": 0,
            "memory_summary": "",
        }
        for place in (cuda, getattr(cuda, "nvtx", None)):
            for name, function in list(vars(place).items()) if place else ():
                if isinstance(function, types.FunctionType) and (name in answers or name.startswith(_DO_NOTHING)):
                    setattr(place, name, self.without_driver(function, answers.get(name)))
        for name in ("Stream", "stream", "StreamContext", "device", "device_of"):
            setattr(cuda, name, Nothing)
        cuda.Event = Event
        cuda.get_rng_state = lambda *_, **__: torch.get_rng_state()
        cuda.get_rng_state_all = lambda: [torch.get_rng_state()]

    @staticmethod
    def without_driver(function: Any, answer: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except (AssertionError, AttributeError, KeyError, RuntimeError):
                return answer

        return call


def change(name: str) -> Callable[[Any], None]:
    return lambda torch: getattr(Torch(torch), name)()


def contexts_of_torch(module: Any) -> None:
    """Patches the context manager for `with torch.device("cuda"):`."""
    context = module.DeviceContext
    context.__init__ = Torch(sys.modules["torch"]).on_cpu(context.__init__)


def platforms_of_jax(_jax: Any) -> None:
    for name in ("gpu", "cuda", "rocm"):
        sys.modules["jax._src.xla_bridge"]._alias_to_platforms[name] = ["cpu"]


def devices_of_tensorflow(tensorflow: Any) -> None:
    config = tensorflow.config
    for place in (config, config.experimental):
        for name in ("list_physical_devices", "list_logical_devices"):
            listed = getattr(place, name)

            def ask(kind: Any = None, listed: Any = listed) -> Any:
                return listed("CPU" if kind == "GPU" else kind)

            setattr(place, name, ask)
        for name in ("set_memory_growth", "set_visible_devices", *_PARTS_OF_DEVICES):
            if hasattr(place, name):
                setattr(place, name, lambda *_, **__: None)
    tensorflow.test.is_gpu_available = lambda *_, **__: True


def main() -> None:
    changes: dict[str, tuple[Callable[[Any], None], ...]] = {
        "torch": tuple(
            change(name)
            for name in ("functions", "methods", "types", "presence", "cuda", "storages", "generators", "defaults")
        ),
        "torch.utils._device": (contexts_of_torch,),
        "jax": (platforms_of_jax,),
        "tensorflow": (devices_of_tensorflow,),
    }
    after = AfterImport(changes)
    for name in changes:
        if name in sys.modules:
            after.apply(sys.modules[name])
    sys.meta_path.insert(0, after)


main()
