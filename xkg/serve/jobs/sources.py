"""Validates the sources that remote callers may build: arXiv papers, repositories on allowed hosts, and paths under
`roots`.

Without this validation, untrusted callers could make the server access its own network or files, or pass options to the
programs that it runs. Source names must therefore match strict patterns and refer to allowed hosts, and are normalized
before they are passed to any program."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from xkg.errors import InputError
from xkg.serve.allowed_folders import path_under_roots, under_roots
from xkg.text.address import address, same_server
from xkg.text.arxiv_id import arxiv_id

_SEGMENT = r"[A-Za-z0-9_~][A-Za-z0-9._~-]*"
_REFERENCE = r"(?!.*(?:\.\.|//))[A-Za-z0-9_][A-Za-z0-9_./+#=-]*"
_GRAPH_ID = re.compile(r"(?:arxiv|doi|title):[^\s\\]{1,500}")
_REPOSITORY = re.compile(rf"/{_SEGMENT}(?:/{_SEGMENT}){{1,9}}/?(?:@(?P<reference>{_REFERENCE}))?")


def paper_named(name: str, roots: Sequence[Path]) -> str:
    """Returns the argument for `xkg build --paper`: an arXiv URL, or a path under `roots` with links resolved. Raises
    `InputError` if the paper is not allowed."""
    _refuse_odd(name)
    known = arxiv_id(name)
    if known is not None:
        return f"https://arxiv.org/abs/{known}"
    try:
        return str(path_under_roots(name, roots))
    except InputError as error:
        raise InputError(f"{error}; or use an arXiv id, such as arxiv:1608.04471") from error


def method_named(method: str, roots: Sequence[Path]) -> str:
    """Returns the method for `xkg implement`. The method is a text with at least four words, the id of a paper or
    technique in the graph, or a file under `roots`. A file may be followed by `#section`, and links in its path are
    resolved. Raises `InputError` if the method is not allowed."""
    if "\n" in method or len(method.split()) > 3:
        return f"{method.strip()}\n"  # the line break distinguishes text from a file name
    _refuse_odd(method)
    if _GRAPH_ID.fullmatch(method):
        return method
    path, mark, section = method.partition("#")
    try:
        return f"{path_under_roots(path, roots)}{mark}{section}"
    except InputError as error:
        raise InputError(f"{error}; or give the method's text, or an id such as arxiv:1608.04471") from error


def data_named(data: Mapping[str, str], roots: Sequence[Path]) -> dict[str, str]:
    """Maps paths in the starter code to data folders under `roots`, with links resolved. Raises `InputError` if a
    folder is not allowed."""
    for place in data.values():
        _refuse_odd(place)
    return {name: str(path_under_roots(place, roots)) for name, place in data.items()}


def related_named(names: Sequence[str], roots: Sequence[Path]) -> list[str]:
    """Returns the related files for `xkg implement`. Paths inside the starter code are returned unchanged. All other
    paths must be under `roots`, and their links are resolved. Raises `InputError` if a path is not allowed."""
    return [
        str(path_under_roots(name, roots)) if name.startswith(("/", "~")) or ".." in name.split("/") else name
        for name in names
    ]


def repository_named(name: str, roots: Sequence[Path], hosts: Sequence[str]) -> str:
    """Returns the argument for `xkg build --repo`: `https://host/owner/name` with an optional `@commit` on one of
    `hosts`, or a folder under `roots` with links resolved. Raises `InputError` if the repository is not allowed."""
    _refuse_odd(name)
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", name):
        try:
            return str(under_roots(name, roots))
        except InputError as error:
            raise InputError(f"{error}; or use https://HOST/OWNER/NAME") from error
    try:
        place = address(name)
        plain = place.scheme == "https" and not place.user and _REPOSITORY.fullmatch(place.path)
    except ValueError:
        plain = None
    if not plain or "?" in name or "#" in name:
        raise InputError(f"{name[:200]!a} is not accepted; use https://HOST/OWNER/NAME, optionally with @COMMIT")
    if not any(same_server(name, f"https://{known}") for known in hosts):
        raise InputError(
            f"{place.server[:100]!a} is not a host that this server fetches from ({', '.join(hosts) or 'none'}); "
            "use one of these, or ask the operator to extend serve.build.hosts"
        )
    return f"https://{place.server}{place.path}"


def _refuse_odd(name: str) -> None:
    if not name.strip() or name.startswith("-") or not name.isprintable() or "\\" in name:
        raise InputError(f"{name[:200]!a} is not a valid name for a paper or repository")
