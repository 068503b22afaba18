"""The graph of operations in a run. Each node is stored by its content, so that no work is repeated.

    folder/nodes/<operation>-<24 hex of the sha256 over its inputs>.json

A node consists of its inputs and its output. When a killed run is started again, its operations start in the same order
and find the stored results; only interrupted operations are repeated."""

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from xkg.files import private_folder, write_whole

T = TypeVar("T", bound=BaseModel)


class Operations:
    """Safe to use from several threads for different nodes. `done` and `reused` count nodes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "nodes"
        private_folder(self._folder)
        self._lock = threading.Lock()
        self.done = 0
        self.reused = 0

    def do(self, name: str, inputs: Mapping[str, Any], kind: type[T], work: Callable[[], T]) -> T:
        """The output of a node, read from its file if it was done before. `inputs` are the JSON values that determine
        the output."""
        path = self._folder / f"{name}-{digest(inputs)}.json"
        known = self._read(path, kind)
        if known is not None:
            with self._lock:
                self.reused += 1
            return known
        output = work()
        node = {"operation": name, "inputs": inputs, "output": output.model_dump(mode="json")}
        write_whole(path, json.dumps(node, indent=1).encode())
        with self._lock:
            self.done += 1
        return output

    @staticmethod
    def _read(path: Path, kind: type[T]) -> T | None:
        try:
            return kind.model_validate(json.loads(path.read_bytes())["output"])
        except (OSError, ValueError, KeyError, TypeError, ValidationError):
            return None  # missing or damaged: the operation runs again


def digest(inputs: Mapping[str, Any]) -> str:
    text = json.dumps(inputs, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
