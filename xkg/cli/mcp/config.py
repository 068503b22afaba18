"""Writes an entry to a client's configuration file, and changes nothing else in it."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn

from xkg.cli.mcp.clients import Entry
from xkg.errors import InputError
from xkg.files import write_whole

Done = Literal["created", "added", "replaced", "unchanged"]

_LARGEST = 4_000_000
_OWN = frozenset(("type", "command", "args", "url", "httpUrl", "serverUrl", "headers", "bearer_token_env_var"))
"""The fields that are replaced in an existing entry. Other fields (`env`, `timeout`, …) are kept."""


def rendered(wanted: Entry, suffix: str) -> str:
    """Renders a `.json` or `.toml` file that contains only the entry."""
    return _toml("", wanted) if suffix == ".toml" else _json("", wanted)


def put(path: Path, wanted: Entry, within: Path | None = None) -> tuple[Done, Path | None]:
    """Writes the entry to the file at `path`, which is created if missing. If this replaces an entry with the same
    name, also returns the path to a backup of the file. After links are resolved, the file must be in the folder
    `within`.

    Raises `InputError` if the file is malformed, or if anything else in the file would change. The file is then left
    unchanged, and the message says how to edit it by hand."""
    target = path.resolve()
    if within is not None and not target.is_relative_to(within.resolve()):
        raise InputError(f"{path} is a link to a file outside {within}; write {target} yourself, if that is intended")
    before = _read(path, target)
    edit = _toml if path.suffix == ".toml" else _json
    old = "" if before is None else _decoded(before, path, wanted)
    known = _parsed(old, path, wanted)
    try:
        text = edit(old, wanted)
    except _UnfitError as error:
        _by_hand(path, str(error), wanted)
    if before is not None and text == old:
        return "unchanged", None
    _check(path, known, _parsed(text, path, wanted), wanted)
    replaced = wanted.name in (known.get(wanted.servers) or {})
    backup = path.with_name(f"{path.name}.bak") if replaced else None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o666 if before is None else target.stat().st_mode & 0o777
        if backup is not None and before is not None:
            write_whole(backup, before, mode)
        write_whole(target, text.encode(), mode)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); it was not changed") from error
    return "created" if before is None else "replaced" if replaced else "added", backup


def put_skill(path: Path, text: str, within: Path | None) -> bool:
    """Writes xkg's skill file. Returns False if the file already contains this text. Raises `InputError` if the path is
    a link that leads outside `within`, or if the file cannot be written."""
    target = path.resolve()
    if within is not None and not target.is_relative_to(within.resolve()):
        raise InputError(f"{path} is a link to a file outside {within}; remove it, then run this again")
    if _read(path, target) == text.encode():
        return False
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, text.encode())
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); correct its permissions") from error
    return True


def _read(path: Path, target: Path) -> bytes | None:
    try:
        if not target.exists():
            return None
        if not target.is_file():
            raise InputError(f"{path} is not a regular file; move it away, then run this again")
        with target.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); correct its permissions, then run this again"
        ) from error
    if len(data) > _LARGEST:
        raise InputError(f"{path} is too large for a configuration file; check it first")
    return data


def _decoded(data: bytes, path: Path, wanted: Entry) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        _by_hand(path, "is not UTF-8", wanted)


def _parsed(text: str, path: Path, wanted: Entry) -> dict[str, Any]:
    """Parses the file, keeping numbers as text to detect any change to a number."""
    try:
        if path.suffix == ".toml":
            value: Any = tomllib.loads(text, parse_float=str)
        else:
            body = text.removeprefix("\ufeff")
            value = json.loads(
                body if body.strip() else "{}",
                parse_float=str,
                parse_int=str,
                parse_constant=_no_number,
                object_pairs_hook=_once,
            )
    except (ValueError, RecursionError) as error:
        why = "has comments or is not JSON" if path.suffix != ".toml" else f"is not valid TOML ({error})"
        _by_hand(path, why, wanted)
    if not isinstance(value, dict):
        _by_hand(path, "is not a JSON object", wanted)
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        raise ValueError("has a duplicate key")
    return unique


class _UnfitError(Exception):
    """Raised with the reason why an entry cannot be added to a file."""


def _json(old: str, wanted: Entry) -> str:
    mark = "\ufeff" if old.startswith("\ufeff") else ""
    body = old.removeprefix(mark)
    config: dict[str, Any] = json.loads(body) if body.strip() else {}
    servers = config.setdefault(wanted.servers, {})
    if not isinstance(servers, dict):
        raise _UnfitError(f"contains something other than servers in {wanted.servers}")
    servers[wanted.name] = _merged(servers.get(wanted.name), wanted.server)
    if wanted.inputs:
        inputs = config.setdefault("inputs", [])
        if not isinstance(inputs, list):
            raise _UnfitError("contains something other than a list in inputs")
        known = {each.get("id") for each in inputs if isinstance(each, dict)}
        inputs += [dict(each) for each in wanted.inputs if each["id"] not in known]
    if body.strip() and json.loads(body) == config:
        return old
    indentation = re.search(r"\n([ \t]+)\S", body)
    text = json.dumps(config, indent=indentation[1] if indentation else 2, ensure_ascii=False) + "\n"
    if any("\ud800" <= char <= "\udfff" for char in text):
        text = json.dumps(config, indent=indentation[1] if indentation else 2) + "\n"
    return mark + (text.replace("\n", "\r\n") if "\r\n" in body else text)


def _toml(old: str, wanted: Entry) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        config = tomlkit.parse(old)
        servers = config.get(wanted.servers)
        if servers is None:
            servers = config[wanted.servers] = tomlkit.table(is_super_table=True)
        known = servers.get(wanted.name)
        merged = _merged(known.unwrap() if known is not None else None, wanted.server)
        if known is not None and known.unwrap() == merged:
            return old
        if known is None:
            servers[wanted.name] = tomlkit.item(merged)
        else:
            for key in [key for key in known if key not in merged]:
                del known[key]
            for key, value in merged.items():
                if known.get(key) != value:
                    known[key] = value
        return tomlkit.dumps(config)
    except (TOMLKitError, AttributeError, TypeError, ValueError, RecursionError) as error:
        raise _UnfitError(f"is written in a form that cannot be extended in {wanted.servers}") from error


def _merged(known: object, server: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the entry, including fields that the user added to the existing entry."""
    added = {key: value for key, value in known.items() if key not in _OWN} if isinstance(known, dict) else {}
    return {**server, **added}


def _check(path: Path, before: dict[str, Any], after: dict[str, Any], wanted: Entry) -> None:
    """Raises `InputError` if anything other than the entry would change."""

    def rest(config: dict[str, Any]) -> dict[str, Any]:
        servers = {name: value for name, value in (config.get(wanted.servers) or {}).items() if name != wanted.name}
        own = {each["id"] for each in wanted.inputs}
        inputs = [
            each for each in config.get("inputs") or [] if not isinstance(each, dict) or each.get("id") not in own
        ]
        without = {key: value for key, value in config.items() if key not in (wanted.servers, "inputs")}
        return {**without, "other servers": servers, "other inputs": inputs}

    if rest(before) != rest(after):
        _by_hand(path, "contains values that would be changed by rewriting them", wanted)


def _by_hand(path: Path, why: str, wanted: Entry) -> NoReturn:
    if path.suffix == ".toml":
        fields = ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in wanted.server.items())
        how = f"put {wanted.servers}.{wanted.name} = {{ {fields} }} before its first table"
    else:
        how = f'put {json.dumps({wanted.name: dict(wanted.server)})[1:-1]} into "{wanted.servers}"'
        how += "".join(f' and {json.dumps(each)} into "inputs"' for each in wanted.inputs)
    raise InputError(f"{path} {why}, so it was not changed: {how}")
