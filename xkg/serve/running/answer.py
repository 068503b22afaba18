"""The answer of a script run."""

from typing import Literal

from pydantic import ConfigDict
from pydantic.json_schema import SkipJsonSchema

from xkg.sandbox.isolation.watchdog import Ended
from xkg.serve.answers.types import Quoting
from xkg.value import Value

MOST_PICTURES = 4
"""Maximum number of pictures shown to a model."""

MediaType = Literal["image/png", "image/jpeg", "image/svg+xml", "text/plain", "application/octet-stream"]


class RunFile(Value):
    """A file that the script left in its working folder, with its path relative to that folder and its bytes. `written`
    is the content of a text file. Tools return `written` and pictures; commands and Python also return `content`
    (base64 in JSON)."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    name: str
    media_type: MediaType
    size: int
    written: str = ""
    content: SkipJsonSchema[bytes] = b""


class RunAnswer(Quoting):
    """The outcome of a script run on code. `ended` is `exited` (then `exit_code` is set), or what stopped it; `error`
    says in one line why it failed, empty if it did not. `output` is what the script printed; the middle of a long
    output is left out. `files` are the files that the script left, pictures first; `left_out` lists what else it left,
    and why it is not returned. `packages` lists the packages in its environment."""

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
        """Whether the script ended with status 0."""
        return not self.error

    @property
    def pictures(self) -> tuple[RunFile, ...]:
        """The files that are valid pictures without extra data."""
        return tuple(file for file in self.files if file.media_type.startswith("image/"))

    @property
    def shown_to_models(self) -> tuple[RunFile, ...]:
        """The first pictures of the types that models accept."""
        return tuple(file for file in self.pictures if file.media_type != "image/svg+xml")[:MOST_PICTURES]


def without_middle(output: str, most: int) -> str:
    """The output, shortened to about the given number of characters: its start, and a longer part of its end, where
    errors are."""
    if len(output) <= most:
        return output
    start, end = most // 3, most - most // 3
    return f"{output[:start]}\n[… {len(output) - most:,} characters left out …]\n{output[-end:]}"
