"""Converts between the peer system's graph files (one JSON file per paper) and bundles.

The round trip is lossless: values and their types, nulls, missing keys, the order of lists and keys, and code points
are preserved. The bundle's regular fields contain the format's regular content, and `Paper.claims` contains all other
content."""

import errno
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from xkg.errors import InputError, UnsafeInputError
from xkg.files import read_regular
from xkg.model import (
    Code,
    Evidence,
    Finding,
    Level,
    Paper,
    PaperBundle,
    Reference,
    Resource,
    Technique,
    code_id,
    paper_id,
    unique_slugs,
)

Check = Callable[[str], Evidence]
Object = dict[str, Any]

LARGEST = 32 * 1024 * 1024
"""Maximum size of a graph file in bytes."""

MOST_TECHNIQUES = 20_000
"""Maximum number of techniques in a paper. Real papers have hundreds."""

_MAX_NESTING = 200
_LOST_ESCAPE = re.compile(r"[\x08\f](?=[a-z])")
_CODE_FIELDS = ("implementation", "test", "documentation", "package")


def read_peer(path: Path, check: Check) -> PaperBundle:
    """Reads the paper in a graph file. Nothing is pruned, and the file's own `pass_exec` is kept in `Code.claims`.
    `check` determines the level of each implementation, but the level of imported code never exceeds `parsed`.
    Top-level techniques with components become methodologies.

    Raises `InputError` with the file and the problem."""
    try:
        return _bundle(_load(path), check)
    except _Wrong as wrong:
        raise InputError(f"{path}: {wrong}; correct the file or leave it out") from wrong


def write_peer(bundle: PaperBundle) -> Object:
    """Returns the content of a graph file. Hidden techniques are omitted. For papers built by xkg, `pass_exec` says
    whether the code has been executed."""
    paper, claims = bundle.paper, bundle.paper.claims
    code = {c.technique: c for c in bundle.code}
    top: list[Object] = []
    components: dict[str | None, list[Object]] = {None: top}
    for technique in bundle.techniques:
        if technique.hidden is not None or technique.parent not in components:
            continue
        components[technique.id] = []
        technique_code = code.get(technique.id)
        value = (
            None
            if technique_code is None
            else _patched(_code(technique_code, paper.origin), claims, "code", technique.id)
        )
        regular = _technique(technique, value, components[technique.id])
        components[technique.parent].append(_patched(regular, claims, "techniques", technique.id))
    return _patched(_paper(bundle, top), claims, "paper", paper.id)


def peer_bytes(bundle: PaperBundle) -> bytes:
    """Returns a graph file's bytes, as indented JSON in UTF-8."""
    # A lone surrogate is written as an escape, which is equivalent in a JSON string.
    return json.dumps(write_peer(bundle), ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace") + b"\n"


def _paper(bundle: PaperBundle, techniques: list[Object]) -> Object:
    paper = bundle.paper
    references = paper.references
    return {
        "paper_title": paper.title,
        "paper_abstract": paper.abstract,
        "paper_references": None if references is None else [r.title or r.text or r.key or "" for r in references],
        "resources": [_joined(item) for item in bundle.resources],
        "findings": [_joined(item) for item in bundle.findings],
        "code_file": "\n".join(paper.code_files),
        "code_overview": paper.code_overview,
        "techniques": techniques,
    }


def _technique(technique: Technique, code: Object | None, components: list[Object]) -> Object:
    return {
        "name": technique.name,
        "description": technique.definition,
        "weight": technique.weight,
        "code": code,
        "components": components,
    }


def _code(code: Code, origin: str) -> Object:
    told = origin == "build" and code.level is not Level.CLAIMED
    ran = {"pass_exec": code.level.rank >= Level.EXECUTED.rank} if told else {}
    values = (code.implementation, code.test, code.documentation, list(code.packages))
    return {**dict(zip(_CODE_FIELDS, values, strict=True)), **ran, **code.claims}


def _joined(item: Finding | Resource) -> str:
    return item.name if item.description is None else f"{item.name}: {item.description}"


def _items(file: Object, key: str, prefix: str) -> Iterator[Object]:
    """Yields the fields of each finding or resource. An item's text is a name, optionally followed by a colon and a
    description."""
    for number, text in enumerate(_texts(file, key, ""), start=1):
        name, colon, description = text.partition(": ")
        yield {"id": f"{prefix}/{number}", "name": name, "description": description if colon else None}


def _beyond(original: Object, regular: Object) -> Object:
    """Compares an object with its regular form and returns the changes that restore the original. The result contains
    all `values` that differ, and `keys` if the keys or their order differ. If the object is regular, the result is
    empty."""
    values = {k: v for k, v in original.items() if k not in regular or json.dumps(v) != json.dumps(regular[k])}
    keys = list(original)
    return ({"values": values} if values else {}) | ({"keys": keys} if keys != list({**regular, **values}) else {})


def _patched(regular: Object, claims: Mapping[str, Any], part: str, node: str) -> Object:
    beyond = claims.get(part, {}).get(node, {})
    full = {**regular, **beyond.get("values", {})}
    return {key: full[key] for key in beyond.get("keys", full)}


class _Wrong(Exception):
    """Raised if a file is invalid."""


def _load(path: Path) -> Object:
    try:
        data = read_regular(path, LARGEST)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise UnsafeInputError(f"{path}: {error.strerror}; leave it out") from error
        raise _Wrong(f"cannot be read ({error.strerror})") from error
    try:
        value = json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=_object, parse_constant=_constant, parse_float=_float
        )
    except RecursionError as error:
        raise _Wrong(f"is nested deeper than {_MAX_NESTING} levels") from error
    except ValueError as error:  # also raised for text that is not UTF-8, and for integers with too many digits
        raise _Wrong(f"is not complete JSON ({str(error)[:200]})") from error
    _bound_nesting(value)
    if not isinstance(value, dict):
        raise _Wrong(f"contains {_kind(value)} instead of an object")
    return value


def _object(pairs: list[tuple[str, Any]]) -> Object:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _Wrong(f"contains an object with a repeated key; the object's keys are {', '.join(value)[:200]}")
    return value


def _constant(name: str) -> float:
    raise _Wrong(f"contains {name}, which is not JSON")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _Wrong(f"contains a number that is too large ({text[:20]})")
    return value


def _bound_nesting(value: Any) -> None:
    level = [value]
    for _ in range(_MAX_NESTING):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise _Wrong(f"is nested deeper than {_MAX_NESTING} levels")


def _bundle(file: Object, check: Check) -> PaperBundle:
    title = _text(file, "paper_title", "", required=True)
    if not title.strip():
        raise _Wrong("paper_title is empty")
    paper = paper_id(title)
    references = None if file.get("paper_references") is None else _texts(file, "paper_references", "")
    code_file = _text(file, "code_file", "")
    techniques: list[Technique] = []
    code: list[Code] = []
    claims: dict[str, Any] = {"paper": {}, "techniques": {}, "code": {}}
    for technique, technique_code, beyond in _walk(file, paper, check):
        techniques.append(technique)
        if technique_code is not None:
            code.append(technique_code)
        for part, value in beyond.items():
            if value:
                claims[part][technique.id] = value
    bundle = PaperBundle(
        paper=Paper(
            id=paper,
            title=title,
            abstract=_text(file, "paper_abstract", ""),
            references=None if references is None else tuple(Reference(title=text) for text in references),
            code_files=tuple(code_file.split("\n")) if code_file else (),
            code_overview=_text(file, "code_overview", ""),
            origin="import",
        ),
        techniques=tuple(techniques),
        code=tuple(code),
        findings=tuple(Finding(**item) for item in _items(file, "findings", f"{paper}#finding")),
        resources=tuple(Resource(**item) for item in _items(file, "resources", f"{paper}#resource")),
    )
    original = {**file, "techniques": []} if file.get("techniques") else file
    if beyond_paper := _beyond(original, _paper(bundle, [])):
        claims["paper"][paper] = beyond_paper
    stored_claims = {part: values for part, values in claims.items() if values}
    return bundle.model_copy(update={"paper": bundle.paper.model_copy(update={"claims": stored_claims})})


def _walk(file: Object, paper: str, check: Check) -> Iterator[tuple[Technique, Code | None, dict[str, Object]]]:
    stack, walked = _siblings(file, "techniques", "", f"{paper}#", None, 0), 0
    while stack:
        value, node, where, parent, depth = stack.pop()
        if (walked := walked + 1) > MOST_TECHNIQUES:
            raise _Wrong(f"exceeds the limit of {MOST_TECHNIQUES:,} techniques")
        below = _siblings(value, "components", where, f"{node}/", node, depth + 1)
        technique = Technique(
            id=node,
            name=_text(value, "name", where, required=True),
            parent=parent,
            kind="methodology" if depth == 0 and below else "technique",
            definition=_restored(_text(value, "description", where)),
            depth=depth,
            weight=_weight(value, where),
        )
        code_object = value.get("code")
        code = None
        beyond = {}
        if code_object is not None:
            if not isinstance(code_object, dict):
                raise _Wrong(f"{where}code is {_kind(code_object)}, not an object")
            code = _read_code(code_object, f"{where}code.", node, check)
            beyond["code"] = _beyond(code_object, _code(code, "import"))
        shallow = {**value, **({"code": None} if code else {}), **({"components": []} if below else {})}
        beyond["techniques"] = _beyond(shallow, _technique(technique, None, []))
        yield technique, code, beyond
        stack += below


def _siblings(
    value: Object, key: str, where: str, prefix: str, parent: str | None, depth: int
) -> list[tuple[Object, str, str, str | None, int]]:
    items = _list(value, key, where)
    for i, item in enumerate(items):
        if not isinstance(item, dict):
            raise _Wrong(f"{where}{key}[{i}] is {_kind(item)}, not an object")
    places = [f"{where}{key}[{i}]." for i in range(len(items))]
    names = [_text(item, "name", place, required=True) for item, place in zip(items, places, strict=True)]
    ids = [prefix + part for part in unique_slugs(names)]
    return [(item, node, place, parent, depth) for item, node, place in zip(items, ids, places, strict=True)][::-1]


def _read_code(value: Object, where: str, technique: str, check: Check) -> Code:
    implementation = _text(value, "implementation", where, required=True)
    test = _text(value, "test", where)
    evidence = check(implementation)
    return Code(
        id=code_id(technique, implementation, test),
        technique=technique,
        implementation=implementation,
        test=test,
        documentation=_restored(_text(value, "documentation", where)),
        packages=tuple(_texts(value, "package", where)),
        level=min(evidence.level, Level.PARSED, key=lambda level: level.rank),
        evidence=(evidence,),
        claims={key: claim for key, claim in value.items() if key not in _CODE_FIELDS},
    )


def _text(value: Object, key: str, where: str, *, required: bool = False) -> str:
    text = value.get(key)
    if text is None:
        if required:
            raise _Wrong(f"{where}{key} is missing")
        return ""
    if not isinstance(text, str):
        raise _Wrong(f"{where}{key} is {_kind(text)}, not a string")
    return text


def _restored(text: str) -> str:
    """Restores commands such as `\\bar` and `\\frac` whose first two characters were parsed as JSON escapes. The
    original text is kept in the result of `_beyond`."""
    return _LOST_ESCAPE.sub(lambda match: {"\b": "\\b", "\f": "\\f"}[match[0]], text)


def _list(value: Object, key: str, where: str) -> Sequence[Any]:
    items = value.get(key)
    if items is None:
        return []
    if not isinstance(items, list):
        raise _Wrong(f"{where}{key} is {_kind(items)}, not a list")
    return items


def _texts(value: Object, key: str, where: str) -> list[str]:
    items = _list(value, key, where)
    for i, item in enumerate(items):
        if not isinstance(item, str):
            raise _Wrong(f"{where}{key}[{i}] is {_kind(item)}, not a string")
    return list(items)


def _weight(value: Object, where: str) -> float:
    weight = 1.0 if value.get("weight") is None else value["weight"]
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or abs(weight) > sys.float_info.max:
        raise _Wrong(f"{where}weight is not a number in the range of floats")
    return float(weight)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
