"""Defines the answer for a script run."""

from typing import ClassVar, Literal

from pydantic import ConfigDict
from pydantic.json_schema import SkipJsonSchema

from xkg.sandbox.isolation.watchdog import Ended
from xkg.serve.answers.types import Quoting
from xkg.value import Value

MOST_PICTURES = 4
"""Maximum number of pictures shown to a model."""

MediaType = Literal["image/png", "image/jpeg", "image/svg+xml", "text/plain", "application/octet-stream"]


class RunFile(Value):
    """A file that the script created.

    - `name`: the path relative to the working folder
    - `written`: the content, if it is a text file
    - `content`: the file's bytes (base64 in JSON), only for commands and Python. Tools return text and pictures"""

    head: ClassVar[str] = "File {name}: {media_type}, {size:,} bytes"

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    name: str
    media_type: MediaType
    size: int
    written: str = ""
    content: SkipJsonSchema[bytes] = b""


class RunAnswer(Quoting):
    """The outcome of a script run on code.

    - `ended`: `exited` (with `exit_code` set), or the reason why the script was stopped
    - `error`: one line that says why the script failed, or empty if the script succeeded
    - `output`: the text that the script printed. The middle of a long output is omitted
    - `files`: the files that the script created, pictures first
    - `left_out`: files that are not returned, with the reasons
    - `packages`: the packages in the environment"""

    head: ClassVar[str] = "Script on {name}: {ended}  [{seconds:.1f} s, {peak_memory_mb:.0f} MB]"
    nothing: ClassVar[tuple[str, str]] = ("output", "It printed nothing.")

    code: str
    name: str
    ended: Ended
    exit_code: int | None
    error: str = ""
    output: str = ""
    files: tuple[RunFile, ...] = ()
    left_out: tuple[str, ...] = ()
    seconds: float
    peak_memory_mb: float
    runner: str
    packages: tuple[str, ...] = ()
    cut: str = ""

    @property
    def ok(self) -> bool:
        """Whether the script exited with status 0."""
        return not self.error

    @property
    def pictures(self) -> tuple[RunFile, ...]:
        """The files that are pictures."""
        return tuple(file for file in self.files if file.media_type.startswith("image/"))

    @property
    def shown_to_models(self) -> tuple[RunFile, ...]:
        """The first few pictures in formats that models accept."""
        return tuple(file for file in self.pictures if file.media_type != "image/svg+xml")[:MOST_PICTURES]


def without_middle(output: str, most: int) -> str:
    """Returns the output, shortened to about `most` characters by omitting the middle. Keeps more of the end than of
    the start, because errors are usually at the end."""
    if len(output) <= most:
        return output
    start, end = most // 3, most - most // 3
    return f"{output[:start]}\n[… {len(output) - most:,} characters left out …]\n{output[-end:]}"
