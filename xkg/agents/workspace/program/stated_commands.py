"""Finds the commands in a repository's READMEs and shell scripts, and checks commands against the repository's files.

Includes a command only if the file that it starts exists, or if exactly one file in a deeper folder has that name.
Lines of text are parsed like code blocks, but rank lower. In a block, `cd` and variables apply to the lines that
follow. If `cd` names a missing folder, the folder is assumed to be the clone itself. Skips installations, and lines
with placeholders or unknown variables. If there are no commands, uses the Python files that the README mentions. If the
README starts a file that exists in several folders, returns one command for each folder."""

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from difflib import get_close_matches

from xkg.agents.workspace.program.shell_line import Started, started
from xkg.errors import InputError

_FENCES = ("```", "~~~")
_INDENTS = ("    ", "\t", "$ ")
_MARKS = re.compile(r"(?:(?:[>*+%$-]|\d{1,2}[.)])[ \t]{1,8}+){1,4}")
_INLINE = re.compile(r"`([^`\n]{1,500})`")
_FILE = re.compile(r"(python3?[ \t]{1,9})?(?<![\w./-])([\w./-]{1,120}\.py)\b")
_PLACEHOLDER = re.compile(
    r"<[^<>\n]{1,80}>|(?<!\$)\{\w{1,40}\}|\.\.\.|…|(?<!\S)(?:\[(?=\S)|[A-Z]{1,40}_[A-Z_]{1,40}(?!\S))"
    r"|\$(?!\{?(?:PYTHONPATH|PWD|HOME)\b|\(pwd\))"
)
_SETTING = re.compile(
    r"(export[ \t]+)?([A-Za-z_]\w{0,80})="
    r"((?:[\w./:~-]|\$\{?(?:PYTHONPATH|PWD|HOME)\b\}?|\$\(pwd\)){0,300}|\"[\w./:~-]{0,300}\");?"
)
_COMMENT = re.compile(r"(?<=\S)[ \t]{1,99}+#[ \t][^\"'#]*+$")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w{0,80})\}?")
_LAUNCHER = re.compile(
    r"(?<!\S)(?:uv|poetry|pipenv|pdm)[ \t]{1,9}run[ \t]{1,9}(?:[^\s;&|]{1,99}[ \t]{1,9}){0,9}?(?=python)"
)
_STARTS = re.compile(r"python(?:3(?:\.\d{1,2})?)?|bash|sh|\./.+")
_PROGRAMS = (".py", ".sh")
_RUNS = re.compile(r"(?<!\bsetup)\.(?:py|sh)$")
_HELP = {"-h", "--help", "--dry-run"}
_MOST_FILES, _MOST_FOLDERS, _LONGEST_FILE, _LONGEST_LINE = 50, 10, 100_000, 1_000


def stated_commands(texts: Mapping[str, str], paths: Set[str], keys: Sequence[str]) -> list[str]:
    """Returns shell commands for the repository's top folder, best first. Commands whose script contains one of the
    texts in `keys` come first. Commands without absolute paths come next. Within each group, code comes before text,
    READMEs before scripts, and files near the top before deeper files."""
    readmes = [path for path in texts if path.rpartition("/")[2].casefold().startswith("readme")]
    scripts = [path for path in texts if path.endswith(".sh")]
    ranked: dict[str, tuple[bool, bool, bool]] = {}
    for path in [*_near_top(readmes), *_near_top(scripts)][:_MOST_FILES]:
        lines = texts[path][:_LONGEST_FILE].splitlines()
        for block, is_text in [(lines, False)] if path.endswith(".sh") else _blocks(lines):
            for command, script in _commands(block, paths):
                if "python" not in command and script.endswith(".py") and not texts.get(script, "#!").startswith("#!"):
                    continue  # the line only mentions the file, and does not run it
                measures = any(key in texts.get(script, "").lower() for key in keys)
                absolute = any("/" in (word[:1], word.partition("=")[2][:1]) for word in command.split())
                rank = (not measures, absolute, is_text)
                ranked[command] = min(rank, ranked.get(command, rank))
    if not ranked:
        named = [found for path in _near_top(readmes) for found in _FILE.findall(texts[path][:_LONGEST_FILE])]
        begun = {name for start, name in named if start}
        inside = {name: _in_each_folder(name, paths) for _, name in named}
        return [line for name, lines in inside.items() if len(lines) == 1 or name in begun for line in lines]
    return sorted(ranked, key=lambda command: ranked[command])


def _in_each_folder(name: str, paths: Set[str]) -> list[str]:
    ends = f"/{posixpath.normpath(name)}"
    folders = _near_top(f"/{path}".removesuffix(ends) for path in paths if f"/{path}".endswith(ends))[:_MOST_FOLDERS]
    starts = ([f"cd {folder.lstrip('/')}"] if folder else [] for folder in folders)
    return [command for start in starts for command, _ in _commands([*start, f"python {name}"], paths)]


def _near_top(paths: Iterable[str]) -> list[str]:
    return sorted(paths, key=lambda path: (path.count("/"), path))


def _blocks(lines: Sequence[str]) -> Iterator[tuple[list[str], bool]]:
    """Yields the code blocks, inline code and lines of text in a README, each with a flag that is True for text."""
    block: list[str] = []
    fenced = False
    for line in lines:
        is_fence = line.lstrip().startswith(_FENCES)
        if not is_fence and (fenced or line.startswith(_INDENTS) or not line.strip()):
            block.append(line)
            continue
        yield block, False
        block, fenced = [], fenced != is_fence
        yield from (([code], False) for code in _INLINE.findall(line))
        yield [line], True
    yield block, False


def _commands(block: Sequence[str], paths: Set[str]) -> Iterator[tuple[str, str]]:
    folder = ""
    values: dict[str, str] = {}
    exports: dict[str, str] = {}
    for line in re.sub(r" ?\\[ \t]*+\n[ \t]*+", " ", "\n".join(block)).split("\n"):
        line = line.strip()
        line = line[match.end() :] if (match := _MARKS.match(line)) else line
        if len(line) > _LONGEST_LINE:
            continue
        if setting := _SETTING.fullmatch(line):
            values[setting[2]] = setting[3].strip('"')
            if setting[1]:
                exports[setting[2]] = f"{setting[2]}={setting[3]}"
            continue
        line = _LAUNCHER.sub("", _COMMENT.sub("", line))
        line = _VARIABLE.sub(lambda found: values.get(found[1], found[0]), line)
        if _PLACEHOLDER.search(line):
            continue
        if line.startswith(("cd ", "pushd ")) and not set(line) & set("&;|"):
            there = posixpath.normpath(posixpath.join(folder, line.partition(" ")[2].strip()))
            folder = there if any(path.startswith(f"{there}/") for path in paths) else "" if there == "." else folder
            continue
        try:
            programs = started(line)
        except InputError:
            continue
        for start in dict.fromkeys((folder, "", *_only_folder(programs, paths))):
            inside = [Started(posixpath.join(start, program.folder), program.words) for program in programs]
            found = [p.script(paths) for p in inside if _STARTS.fullmatch(p.words[0])]
            if found and None not in found:
                if _RUNS.search(str(found[0])) and not any(_HELP & set(p.words) for p in programs):
                    steps = [f"export {' '.join(exports.values())}"] if exports else []
                    steps += [f"cd {shlex.quote(start)}"] if start else []
                    yield " && ".join([*steps, line]), str(found[0])
                break


def require_script(line: str, paths: Set[str]) -> None:
    """Raises `InputError` if a shell command first runs Python or a shell with a script that is not in `paths`. The
    message lists files with similar names. Does not check later programs, because they may start files that the command
    creates."""
    first = started(line)[0]
    script = next((first.path(word) for word in first.words if word.endswith(_PROGRAMS)), None)
    if not _STARTS.fullmatch(first.words[0]) or script is None or script in paths or script.startswith(("/", "..")):
        return
    names = {path.rpartition("/")[2] for path in paths if path.endswith(_PROGRAMS)}
    alike = get_close_matches(script.rpartition("/")[2], names)
    near = _near_top(path for path in paths if path.rpartition("/")[2] in alike[:1])[:3]
    hint = f"; the closest {'match is' if len(near) == 1 else 'matches are'}: {', '.join(near)}" if near else ""
    for folder in _only_folder([first], paths):
        hint += f"; start it in that folder, as in `cd {shlex.quote(folder)} && …`"
    raise InputError(f"the command starts {script}, which is not in the repository{hint}")


def _only_folder(programs: Sequence[Started], paths: Set[str]) -> Iterator[str]:
    """Yields the folder that contains the first script's path, if there is exactly one such folder."""
    names = [f"/{program.path(word)}" for program in programs for word in program.words if word.endswith(_PROGRAMS)]
    below = [path for path in paths if names and path.endswith(names[0])]
    if len(below) == 1:
        yield below[0].removesuffix(names[0])
