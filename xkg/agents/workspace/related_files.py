"""Reads code that is related to a method: files in the starter, and files and folders elsewhere on this machine. Files
outside the starter are copied as read-only text. The copies are not available to runs and are not part of the result,
so the agent must copy everything that the program needs from these files."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from itertools import chain, count
from pathlib import Path

from xkg.agents.workspace.files.starter import is_inside
from xkg.build.repositories.checkout import read_folder
from xkg.errors import InputError
from xkg.files import read_regular
from xkg.serve.allowed_folders import path_under_roots
from xkg.text.unicode import printable_line
from xkg.value import Value

MOST_FILES, MOST_FILE_BYTES, MOST_BYTES = 200, 200_000, 2_000_000
_FOLDERS = ("related", "related-code", "xkg-related")


class RelatedFiles(Value):
    """Read-only files that are related to a method. `of_starter` lists paths in the starter. `texts` maps paths below
    the virtual folder `folder` to the text of other files. `notes` describes parts that were left out."""

    of_starter: tuple[str, ...] = ()
    texts: Mapping[str, str] = {}
    folder: str = _FOLDERS[0]
    notes: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """Returns a digest of the files outside the starter, or '' if there are none."""
        if not self.texts:
            return ""
        return hashlib.sha256("\0".join(f"{path}\0{text}" for path, text in self.texts.items()).encode()).hexdigest()

    def holds(self, path: str) -> bool:
        """Returns whether a path is under the read-only `folder`."""
        return bool(self.texts) and path.removeprefix("./").partition("/")[0] == self.folder

    def write(self, folder: Path) -> None:
        """Writes the texts to a folder, so that users can inspect them."""
        for path, text in self.texts.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            place.write_text(text, encoding="utf-8")
            place.chmod(0o444)


def read_related(
    named: Sequence[str], starter: Mapping[str, object], roots: Sequence[Path] | None = None
) -> RelatedFiles:
    """Reads the related files listed in a task. A related file or folder is either in the starter or elsewhere on this
    machine. If `roots` is not None, files and folders elsewhere must be inside one of the `roots`. In folders, reads
    all text files that git does not ignore, without following links. Skips large files and files that are not UTF-8
    text, and adds a note.

    Raises `InputError` if a path does not exist, if a listed file is not text or exceeds 200 kB, or if there are more
    than 200 files or 2 MB in total."""
    folder = next(each for each in _FOLDERS if each == _FOLDERS[-1] or not any(_is_below(p, each) for p in starter))
    of_starter: dict[str, None] = {}
    texts: dict[str, str] = {}
    notes: list[str] = []
    taken: set[str] = set()
    for name in dict.fromkeys(named):
        plain = name.removeprefix("./").rstrip("/")
        inside = [path for path in sorted(starter) if _is_below(path, plain)]
        if inside:
            of_starter |= dict.fromkeys(inside)
            continue
        place = _place(name, roots)
        top = _free(place.name, taken)
        if place.is_dir():
            found, left_out = _of_folder(place, roots)
            if not found:
                raise InputError(f"--related {name!a} has no text file that can be read")
            if left_out:
                why = f"links, files over {MOST_FILE_BYTES // 1000} kB, or files that are not UTF-8"
                notes.append(f"in {printable_line(name)}, {left_out} files are left out: {why}")
            texts |= {f"{folder}/{top}/{path}": text for path, text in found.items()}
        else:
            texts[f"{folder}/{top}"] = _of_file(place, name)
        _require_bounded(texts, name)
    return RelatedFiles(of_starter=tuple(of_starter), texts=texts, folder=folder, notes=tuple(notes))


def _is_below(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}/")


def _place(name: str, roots: Sequence[Path] | None) -> Path:
    try:
        if roots is not None:
            return path_under_roots(name, roots)
        place = Path(name).expanduser().resolve(strict=True)
    except InputError as error:
        raise InputError(f"--related {name[:200]!a} is not a file in the starter; {error}") from error
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"--related {name[:200]!a} is neither a file in the starter nor a file or folder on this machine"
        ) from error
    if place.parent == place or place == Path.home().resolve():
        raise InputError(f"--related {name!a}; pass the folder that contains only the code")
    return place


def _of_file(place: Path, name: str) -> str:
    try:
        data = read_regular(place, MOST_FILE_BYTES, links=False)
    except OSError as error:
        raise InputError(f"--related {name!a} cannot be read ({error.strerror or error})") from error
    text = _text(data)
    if text is None:
        raise InputError(f"--related {name!a} is not UTF-8 text; only text can be read")
    return text


def _of_folder(place: Path, roots: Sequence[Path] | None) -> tuple[dict[str, str], int]:
    checkout = read_folder(place, roots)
    small = [file.path for file in checkout.files if file.kind == "file" and (file.size or 0) <= MOST_FILE_BYTES]
    texts: dict[str, str] = {}
    for path, content in checkout.read(small):
        if content is not None and is_inside(path) and path.isprintable() and (text := _text(content)) is not None:
            texts[path] = text
        if len(texts) > MOST_FILES or sum(map(len, texts.values())) > MOST_BYTES:
            break  # stop reading, because the caller refuses this many files
    return texts, len(checkout.files) - len(texts)


def _text(data: bytes) -> str | None:
    """Decodes UTF-8 and normalises line endings and control characters. Returns None if the data is not text."""
    try:
        text = data.decode("utf-8").replace("\r\n", "\n").removeprefix("\ufeff")
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    return "".join(c if c in "\n\t" or c >= " " else "?" for c in text)


def _require_bounded(texts: Mapping[str, str], name: str) -> None:
    size = sum(map(len, texts.values()))
    if len(texts) > MOST_FILES or size > MOST_BYTES:
        raise InputError(
            f"--related {name!a}: related files exceed {MOST_FILES} files or {MOST_BYTES // 10**6} MB in total; list "
            "only files that belong to the method"
        )


def _free(name: str, taken: set[str]) -> str:
    plain = re.sub(r"[^\w.-]", "-", name).strip(".") or "code"
    stem, dot, ending = plain.rpartition(".") if "." in plain else (plain, "", "")
    numbered = (f"{stem}-{number}{dot}{ending}" for number in count(2))
    free = next(each for each in chain([plain], numbered) if each not in taken)
    taken.add(free)
    return free
