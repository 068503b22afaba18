"""The graph of operations of a run. Each node is stored by its content, so that no work is repeated.

    folder/nodes/<operation>-<24 hex of the sha256 over its inputs>.json

A node has its inputs and its output. A killed run starts its operations again in the same order and finds the stored
results; only interrupted operations are repeated."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from xkg.files import private_folder, write_whole

T = TypeVar("T", bound=BaseModel)


class Operations:
    """Safe to use from several threads for different nodes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "nodes"
        private_folder(self._folder)

    def do(self, name: str, inputs: Mapping[str, Any], kind: type[T], work: Callable[[], T]) -> T:
        """The output of a node, from its file if it was done before. `inputs` are the JSON values that determine the
        output."""
        path = self._folder / f"{name}-{digest(inputs)}.json"
        if (known := self._read(path, kind)) is not None:
            return known
        output = work()
        node = {"operation": name, "inputs": inputs, "output": output.model_dump(mode="json")}
        write_whole(path, json.dumps(node, indent=1).encode())
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
