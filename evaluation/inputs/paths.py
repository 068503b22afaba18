"""Paths in parameters of Inspect tasks."""

import os
from pathlib import Path


def given_path(text: str) -> Path:
    """The absolute path of `text`, relative to the shell's working folder: `inspect eval` changes to the folder of the
    task's file, and only PWD still has the original one."""
    path = Path(text).expanduser()
    if path.is_absolute() or path.exists():
        return path.absolute()
    typed = Path(os.environ.get("PWD", ".")) / path
    return typed if typed.exists() else path.absolute()
