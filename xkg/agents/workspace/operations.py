"""Stores a run's finished operations, which are not repeated when the run resumes.

    folder/nodes/<operation>-<24 hex of the sha256 over its inputs>.json

A node contains an operation's inputs and output. A resumed run requests its operations in the same order and finds the
stored outputs. Only interrupted operations are repeated."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from xkg.files import private_folder, write_whole

T = TypeVar("T", bound=BaseModel)


class Operations:
    """Stores outputs of operations. `inputs` are the JSON values that determine an output. This class is thread-safe
    for different nodes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "nodes"

    def do(self, name: str, inputs: Mapping[str, Any], kind: type[T], work: Callable[[], T]) -> T:
        """Returns the stored output. If no output is stored, runs `work` and stores its output."""
        if (known := self.get(name, inputs, kind)) is not None:
            return known
        output = work()
        self.put(name, inputs, output)
        return output

    def get(self, name: str, inputs: Mapping[str, Any], kind: type[T]) -> T | None:
        """Returns the stored output, or None if it is missing, damaged or from an incompatible version of xkg."""
        try:
            return kind.model_validate_json(json.dumps(json.loads(self._place(name, inputs).read_bytes())["output"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, name: str, inputs: Mapping[str, Any], output: BaseModel) -> None:
        private_folder(self._folder)
        node = {"operation": name, "inputs": inputs, "output": output.model_dump(mode="json")}
        write_whole(self._place(name, inputs), json.dumps(node, indent=1).encode())

    def _place(self, name: str, inputs: Mapping[str, Any]) -> Path:
        return self._folder / f"{name}-{digest(inputs)}.json"


def digest(inputs: Mapping[str, Any]) -> str:
    text = json.dumps(inputs, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
