"""Uses a local program as an endpoint. Each question starts a separate process in an empty folder, with limits."""

import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from xkg.errors import ModelUnavailableError
from xkg.files import private_folder, user_cache_folder
from xkg.llm.endpoint import CLOSED, Reply, Request
from xkg.llm.prices import tokens
from xkg.llm.programs.known import inherited, path_of
from xkg.llm.programs.program import Asked, Program, ProgramError, Ran, conversation
from xkg.operating_system import KILL, signal_group
from xkg.text.unicode import encodable, printable_line

_MOST_BYTES = 16 << 20
_LONGEST_LINE = 300
_LAST_WORDS_SECONDS = 2.0


class ProgramEndpoint:
    """Starts a program once per question. The program's process group is killed if it runs longer than `seconds`, if it
    prints more than 16 MB, or on `close`. The constructor raises `ModelUnavailableError` if the program is not
    installed."""

    def __init__(self, program: Program, model: str, *, seconds: float) -> None:
        """`model` is the program's model, or empty for its default."""
        path = path_of(program)
        if path is None:
            raise ModelUnavailableError(
                f"{program.title} is not installed: no {program.executable} in PATH; install it, or choose a different "
                f"--llm"
            )
        self.at = program.title
        self.remedy = "raise llm.seconds"
        self.searches = program.searches
        self._program, self._path, self._model, self._seconds = program, path, model, seconds
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._closed = False

    def complete(self, request: Request) -> Reply:
        begun = time.monotonic()
        parent = user_cache_folder() / "programs"
        try:
            private_folder(parent)
            folder = Path(tempfile.mkdtemp(dir=parent))
        except OSError as error:
            raise ModelUnavailableError(
                f"cannot create a folder for {self.at} in {error.filename} ({error.strerror})"
            ) from error
        try:
            return replace(self._answer(request, folder), seconds=time.monotonic() - begun)
        except OSError as error:
            raise ModelUnavailableError(f"{self.at} cannot be started ({error}); reinstall it") from error
        except ProgramError as error:
            line = printable_line(str(error))[:_LONGEST_LINE]
            raise ModelUnavailableError(
                f"{self.at} returned no answer ({line}); {self._program.log_in}, or try again"
            ) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def distrust(self, model: str) -> None:
        """Does nothing, because either the program enforces the schema or the prompt already contains it."""

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for process in self._running:
                signal_group(process, KILL)

    def _answer(self, request: Request, folder: Path) -> Reply:
        system, prompt = conversation(request.messages)
        variables = inherited(self._program)
        asked = Asked(
            self._model, encodable(system), encodable(prompt), request.schema, folder, variables, request.search
        )
        start = self._program.start(asked)
        empty = folder / "empty"
        empty.mkdir()
        outcome = self._run(
            [self._path, *start.arguments], start.stdin, {**variables, **start.variables}, folder, empty
        )
        if isinstance(outcome, Ran):
            reply = self._program.read(outcome, asked)
            return replace(reply, text=encodable(reply.text))
        return replace(outcome, input_tokens=tokens(asked.system + asked.prompt))

    def _run(
        self, command: Sequence[str], stdin: str, variables: Mapping[str, str], folder: Path, empty: Path
    ) -> Ran | Reply:
        """Returns the run, or a reply that states which limit it exceeded. Raises `ModelUnavailableError` after
        `close`."""
        question = folder / "question"
        question.write_text(stdin, "utf-8")
        with question.open("rb") as given, self._lock:
            if self._closed:
                raise ModelUnavailableError(CLOSED)
            process = subprocess.Popen(
                command,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=empty,
                env=variables,
                start_new_session=True,
            )
            self._running.add(process.pid)
        assert process.stdout is not None
        assert process.stderr is not None
        output, errors = _Kept(process.stdout, process.pid), _Kept(process.stderr, process.pid)
        try:
            code = process.wait(self._seconds)
        except subprocess.TimeoutExpired:
            return Reply("late", f"no answer within {self._seconds:g} s")
        finally:
            with self._lock:
                signal_group(process.pid, KILL)  # this also kills processes that the program left running
                self._running.discard(process.pid)
            process.wait()
            output.end()
            errors.end()
        if self._closed:
            raise ModelUnavailableError(CLOSED)
        if output.too_long:
            return Reply("cut", output.text[:_LONGEST_LINE])
        return Ran(output.text, errors.text, code)


class _Kept:
    """Reads a stream in a thread, and kills the process if it prints too much."""

    def __init__(self, stream: IO[bytes], process: int) -> None:
        self._stream, self._process = stream, process
        self._bytes = bytearray()
        self.too_long = False
        self._thread = threading.Thread(target=self._read, name="program", daemon=True)
        self._thread.start()

    @property
    def text(self) -> str:
        return self._bytes.decode("utf-8", "replace")

    def end(self) -> None:
        """Waits briefly for the end of the stream, which a process that left the group may keep open."""
        self._thread.join(_LAST_WORDS_SECONDS)
        if not self._thread.is_alive():
            self._stream.close()

    def _read(self) -> None:
        while piece := self._stream.read1(1 << 16):  # type: ignore[attr-defined]
            if len(self._bytes) + len(piece) > _MOST_BYTES:
                self.too_long = True
                signal_group(self._process, KILL)
                return
            self._bytes += piece
