"""The commands that READMEs and shell scripts of a repository state, held against its files.

A command counts if it starts a file that is there. Blocks of code are read line by line, and `cd` holds for the lines
below it in the same block; a folder that is not there is the clone's own. Lines with placeholders or unknown variables
are left out.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence, Set

from xkg.agents.workspace.shell_line import Started, started
from xkg.errors import InputError

_FENCES = ("```", "~~~")
_INDENTS = ("    ", "\t", "$ ")
_INLINE = re.compile(r"`([^`\n]{1,500})`")
_PLACEHOLDER = re.compile(r"<[^<>\n]{1,80}>|\.\.\.|…|\[-|\$(?!\{?(?:PYTHONPATH|PWD|HOME)\b|\(pwd\))")
_STARTS = re.compile(r"python(?:3(?:\.\d{1,2})?)?|bash|sh|\./.+")
_MOST_FILES, _LONGEST_FILE, _LONGEST_LINE = 50, 100_000, 1_000


def stated_commands(texts: Mapping[str, str], paths: Set[str], keys: Sequence[str]) -> list[str]:
    """Shell lines for the repository's top, best first: those whose script has one of the texts `keys`, those that name
    no absolute path, READMEs before scripts, files near the top first, and in the order of the file."""
    readmes = [path for path in texts if path.rpartition("/")[2].casefold().startswith("readme")]
    scripts = [path for path in texts if path.endswith(".sh")]
    ranked: dict[str, tuple[bool, bool]] = {}
    for path in [*_near_top(readmes), *_near_top(scripts)][:_MOST_FILES]:
        lines = texts[path][:_LONGEST_FILE].splitlines()
        for block in [lines] if path.endswith(".sh") else _blocks(lines):
            for command, script in _commands(block, paths):
                measures = any(key in texts.get(script, "") for key in keys)
                absolute = any("/" in (word[:1], word.partition("=")[2][:1]) for word in command.split())
                ranked.setdefault(command, (not measures, absolute))
    return sorted(ranked, key=lambda command: ranked[command])


def _near_top(paths: Sequence[str]) -> list[str]:
    return sorted(paths, key=lambda path: (path.count("/"), path))


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """The blocks of code of a README, and each piece of code in its text."""
    block: list[str] = []
    fenced = False
    for line in lines:
        is_fence = line.lstrip().startswith(_FENCES)
        if not is_fence and (fenced or line.startswith(_INDENTS) or not line.strip()):
            block.append(line)
            continue
        yield block
        block, fenced = [], fenced != is_fence
        yield from ([code] for code in _INLINE.findall(line))
    yield block


def _commands(block: Sequence[str], paths: Set[str]) -> Iterator[tuple[str, str]]:
    """Each command of a block, and the file that it starts."""
    folder = ""
    for line in re.sub(r" ?\\[ \t]*+\n[ \t]*+", " ", "\n".join(block)).split("\n"):
        line = line.strip().removeprefix("$ ").strip()
        if len(line) > _LONGEST_LINE or _PLACEHOLDER.search(line):
            continue
        if line.startswith("cd ") and not set(line) & set("&;|"):
            there = posixpath.normpath(posixpath.join(folder, line[3:].strip()))
            folder = there if any(path.startswith(f"{there}/") for path in paths) else "" if there == "." else folder
            continue
        try:
            programs = started(line)
        except InputError:
            continue
        for start in dict.fromkeys((folder, "")):
            inside = [Started(posixpath.join(start, program.folder), program.words) for program in programs]
            found = [p.script(paths) for p in inside if _STARTS.fullmatch(p.words[0])]
            if found and None not in found:
                yield f"cd {shlex.quote(start)} && {line}" if start else line, str(found[0])
                break
