"""Provides a fake sandbox for tests that need only the outcomes of commands."""

import hashlib
import json
from pathlib import Path
from typing import Any

from xkg.agents.workspace.command import Commands, RunResult
from xkg.agents.workspace.files.workspace import Workspace
from xkg.files import write_whole


class RecordedCommands(Commands):
    """Runs a command over some files only once, and stores the outcome in `recordings`. The same command over the same
    files then returns the stored outcome. Runs that pass files to or from another run are always real."""

    recordings: Path

    def run(self, workspace: Workspace, command: str, **options: Any) -> RunResult:
        if options.keys() & {"leaves", "left"}:
            return super().run(workspace, command, **options)
        files = {path: [file.executable, file.content.hex()] for path, file in sorted(workspace.files.items())}
        data = {name: str(place) for name, place in self._data.items()}
        decided_by = [command, options, files, data, self._variables, self.limits.model_dump()]
        decided_by += [self.environment.hash, self.environment.cpu]
        key = hashlib.sha256(json.dumps(decided_by).encode()).hexdigest()
        place = self.recordings / f"{key}.json"
        if not place.exists():
            write_whole(place, super().run(workspace, command, **options).model_dump_json().encode())
        return RunResult.model_validate_json(place.read_bytes())
