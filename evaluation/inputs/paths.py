"""Paths that are given to Inspect tasks."""

import os
from pathlib import Path


def given_path(text: str) -> Path:
    """The absolute path that `text` names from where the command was typed: `inspect eval` works in the folder of the
    task's file, and leaves only the shell's PWD of the other."""
    path = Path(text).expanduser()
    if path.is_absolute() or path.exists():
        return path.absolute()
    typed = Path(os.environ.get("PWD", ".")) / path
    return typed if typed.exists() else path.absolute()
