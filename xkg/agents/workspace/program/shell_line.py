"""Finds the programs that a shell command starts, and their working folders. Bash itself runs the command."""

import posixpath
import re
import shlex
from collections.abc import Container, Iterator
from typing import NamedTuple

from xkg.errors import InputError

_OPERATORS = "();<>|&\n"
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")


class Started(NamedTuple):
    """A program that a shell command starts. `words` contains no variables or redirections. `folder` is the program's
    working folder, relative to the folder of the shell command ('' if both are the same)."""

    folder: str
    words: tuple[str, ...]

    def path(self, word: str) -> str:
        """Converts a path in the program's words to a path relative to the shell command's folder."""
        return posixpath.normpath(posixpath.join(self.folder, word))

    def script(self, paths: Container[str]) -> str | None:
        """Returns the first file in `paths` that one of the words refers to, or None. The word after `-m` is a module
        in the working folder or its `src`."""
        for number, word in enumerate(self.words):
            names = [word]
            if number and self.words[number - 1] == "-m":
                module = word.replace(".", "/")
                names = [f"{place}{end}" for place in (module, f"src/{module}") for end in (".py", "/__main__.py")]
            for name in map(self.path, names):
                if name in paths:
                    return name
        return None


def started(line: str) -> list[Started]:
    """Returns the programs in a shell line in order, without `cd` commands. Raises `InputError` if there is no program
    or a quote is not closed."""
    try:
        tokens = list(_lexer(line))
    except ValueError as error:
        raise InputError(f"the command {line!a} cannot be split into words ({error})") from error
    found = list(_programs(tokens))
    if not found or "\0" in line:
        raise InputError("pass a command to run, such as 'python train.py --epochs 1'")
    return found


def _lexer(line: str) -> shlex.shlex:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    return lexer


def _programs(tokens: list[str]) -> Iterator[Started]:
    folder, outer, words, redirected = "", list[str](), list[str](), False
    for token in [*tokens, "\n"]:
        if not set(token) <= set(_OPERATORS):
            if not redirected and (words or not _VARIABLE.match(token)):
                words.append(token)
            redirected = False
            continue
        if redirected := "<" in token or ">" in token:
            continue
        if words[:1] == ["cd"]:
            folder = posixpath.normpath(posixpath.join(folder, words[1])) if len(words) > 1 else folder
            folder = "" if folder == "." else folder
        elif words:
            yield Started(folder, tuple(words))
        words = []
        for sign in token:
            if sign == "(":
                outer.append(folder)
            elif sign == ")" and outer:
                folder = outer.pop()
