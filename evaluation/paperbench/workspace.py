"""Keeps the agent's files in the sample's store. Nothing is run or written to disk."""

from pathlib import PurePosixPath

from inspect_ai.tool import Tool, ToolError, tool
from inspect_ai.util import StoreModel, store_as
from pydantic import Field

MOST_FILES = 200
LARGEST = 200_000
_SHOWN = 60_000


class Submission(StoreModel):
    """Maps the relative path of each file to its text."""

    files: dict[str, str] = Field(default_factory=dict)


def submitted() -> dict[str, str]:
    """Returns the running sample's files, keyed by path."""
    return dict(sorted(store_as(Submission).files.items()))


def put(path: str, text: str) -> str:
    """Writes a file and returns its normalized path. Raises `ValueError` if the path is outside the submission, there
    are too many files, or a file is too long."""
    parts = PurePosixPath(path.strip().replace("\\", "/"))
    if not parts.parts or parts.is_absolute() or ".." in parts.parts or not str(parts).isprintable() or len(path) > 300:
        raise ValueError(f"{path[:80]!r} is not a relative path inside the submission")
    if len(text) > LARGEST:
        raise ValueError(f"a file may contain at most {LARGEST:,} characters, not {len(text):,}")
    files = dict(store_as(Submission).files)
    if str(parts) not in files and len(files) >= MOST_FILES:
        raise ValueError(f"a submission may contain at most {MOST_FILES} files")
    store_as(Submission).files = {**files, str(parts): text}
    return str(parts)


def bundle_text(files: dict[str, str], characters: int) -> tuple[str, str]:
    """Returns the concatenated files, up to about this many characters, and a line about omitted files ('' if there are
    none)."""
    parts, left, cut = [], characters, []
    for path, text in files.items():
        if len(text) > left:
            cut.append(path)
            text = text[: max(left, 0)] + "\n[cut]"
        left -= len(text)
        parts.append(f"=== {path}\n{text}")
    return "\n\n".join(parts), f"cut to fit: {', '.join(cut)[:500]}" if cut else ""


@tool
def write_file() -> Tool:
    """Writes a file of the submission."""

    async def execute(path: str, content: str) -> str:
        """Writes a whole file of the submission, replacing any earlier file at that path.

        Args:
            path: Relative path, such as model/loss.py.
            content: The file's whole text.
        """
        try:
            return f"wrote {put(path, content)}, {len(content):,} characters"
        except ValueError as error:
            raise ToolError(str(error)) from None

    return execute


@tool
def read_file() -> Tool:
    """Reads a file of the submission."""

    async def execute(path: str) -> str:
        """Returns the text of a file of the submission.

        Args:
            path: Its relative path, as list_files gives it.
        """
        files = submitted()
        if path not in files:
            raise ToolError(f"there is no {path[:200]}: list_files gives those that are there")
        text = files[path]
        return text if len(text) <= _SHOWN else text[:_SHOWN] + f"\n[cut: {len(text) - _SHOWN:,} characters more]"

    return execute


@tool
def list_files() -> Tool:
    """Lists the submission."""

    async def execute() -> str:
        """Lists the files of the submission with their lengths."""
        return "\n".join(f"{path} ({len(text):,} characters)" for path, text in submitted().items()) or "no files yet"

    return execute


def tools() -> list[Tool]:
    """Returns the three tools for working on a submission."""
    return [write_file(), read_file(), list_files()]
