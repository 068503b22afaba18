"""Reads the named queries in `cypher/explore/`: summaries, parameters, and statements for both engines.

A file contains a comment with a fixed format, followed by one statement (see `cypher/README.md`):

    // What it answers, in one or more lines.
    //
    // Group: concepts
    // Parameters:
    //   papers: integer = 2 -- minimum number of papers that share it
    // Example: xkg cypher shared-techniques --param papers=3

A parameter without a default is required. Statements are written for Neo4j and translated for LadybugDB by `embedded`.
If LadybugDB needs a different statement, `NAME.cypher` contains that statement, and `NAME.neo4j.cypher` contains the
one for Neo4j.
"""

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast, get_args

from xkg.config import StoreSettings
from xkg.errors import InputError, StoreError

Engine = Literal["embedded", "neo4j"]
Type = Literal["string", "integer", "number", "boolean", "strings", "paper"]
"""A `paper` is a string with a paper's id, in any form that xkg accepts."""
Value = str | int | float | bool | tuple[str, ...]

GROUPS = ("papers", "citations", "techniques", "concepts", "code", "repositories", "findings")
"""The groups in display order."""

_FORM = re.compile(
    r"(?P<summary>(?:// .+\n)+)//\n"
    rf"// Group: (?P<group>{'|'.join(GROUPS)})\n"
    r"// Parameters:(?: none\n|\n(?P<parameters>(?://   .+\n)+))"
    r"// Example: (?P<example>.+)\n\s*"
    r"(?P<statement>[^/\s](?:.|\n)*)"
)
_PARAMETER = re.compile(rf"//   (\w+): ({'|'.join(get_args(Type))})(?: = ((?:(?! -- ).)++))? -- (.+)")
_FENCED = re.compile(r"^[ \t]*(```|~~~)[^\n`]*\n(.*?)(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)
_AROUND = re.compile(
    r"(?P<mark>`|[\"'])?+\s*+(?:cypher\b\s*+(?::\s*+)?+)?+"
    r"(?P<statement>(?:MATCH|OPTIONAL|UNWIND|WITH|RETURN|CALL)\b.*?)(?(mark)(?P=mark)|)",
    re.IGNORECASE | re.DOTALL,
)
_NAME = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True)
class Parameter:
    """A query parameter. `default` is None if the parameter is required."""

    name: str
    type: Type
    default: Value | None
    description: str

    def __str__(self) -> str:
        """Formats the parameter as in a signature: `papers: integer = 2`."""
        kind = "string" if self.type == "paper" else self.type
        return f"{self.name}: {kind}" + ("" if self.default is None else f" = {json.dumps(self.default)}")


@dataclass(frozen=True)
class NamedQuery:
    name: str
    group: str
    summary: str
    parameters: tuple[Parameter, ...]
    example: str
    statements: Mapping[Engine, str]

    def __str__(self) -> str:
        """Formats the name, parameters and summary as one line."""
        return f"{self.name}({', '.join(map(str, self.parameters))}): {self.summary}"


@cache
def queries() -> Sequence[NamedQuery]:
    """Returns all named queries, ordered by group and name. Raises `StoreError` if a file is malformed."""
    paths = [path for path in (folder() / "explore").glob("*.cypher") if not path.name.endswith(".neo4j.cypher")]
    return tuple(sorted(map(read, paths), key=lambda query: (GROUPS.index(query.group), query.name)))


def find(name: str) -> NamedQuery:
    """Returns the query with this name. If there is no such query, raises `InputError`, which lists the nearest
    names."""
    known = {query.name: query for query in queries()}
    if name in known:
        return known[name]
    raise InputError(
        f"{name[:80]!r} is neither a statement nor a named query; nearest: {', '.join(_nearest(name, known))} "
        "(graph_schema lists them)"
    )


def engine(settings: StoreSettings) -> Engine:
    return "embedded" if settings.url is None else "neo4j"


def is_name(text: str) -> bool:
    """Returns whether the text is a single word, which cannot be a statement."""
    return _NAME.fullmatch(text.strip()) is not None


def prepare(text: str, values: Mapping[str, Any], engine: Engine) -> tuple[str, Mapping[str, Any]]:
    """Returns the statement and parameters for a named query or a statement. Removes wrappers that models often add to
    statements: code fences, quotes and the word "cypher". Raises the same errors as `find` and `bind`."""
    fenced = _FENCED.search(text)
    text = fenced[2] if fenced else text
    if around := _AROUND.fullmatch(text.strip()):
        text = around["statement"]
    if not is_name(text):
        return text, values
    query = find(text.strip())
    return query.statements[engine], bind(query, values)


def bind(query: NamedQuery, values: Mapping[str, Any]) -> dict[str, Value]:
    """Returns values for all of the query's parameters. Values are converted to the parameter's type, and omitted
    parameters get their defaults.

    Raises `InputError` if a parameter is unknown, missing, or of the wrong type."""
    known = {parameter.name: parameter for parameter in query.parameters}
    takes = f"{query.name} takes " + (", ".join(map(str, query.parameters)) or "no parameters")
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise InputError(f"unknown parameter {', '.join(map(_quoted, unknown))}: {takes}")
    missing = [
        parameter.name for parameter in query.parameters if parameter.default is None and not values.get(parameter.name)
    ]
    if missing:
        raise InputError(f"parameter {', '.join(missing)} is missing: {takes} (pass {missing[0]}=VALUE)")
    bound: dict[str, Value] = {}
    for parameter in query.parameters:
        value = values.get(parameter.name, parameter.default)
        typed = _typed(value, parameter.type)
        if typed is None:
            wanted = _WANTED[parameter.type]
            raise InputError(f"parameter {parameter.name} of {query.name} must be {wanted}, not {_quoted(value)}")
        bound[parameter.name] = typed
    return bound


def plain(text: str) -> Any:
    """Parses a parameter value for a custom statement. Numbers, `true`, `false`, `null`, lists and quoted strings must
    be in JSON syntax. Any other text is a string."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, dict) else value


def read(path: Path) -> NamedQuery:
    """Reads a query from a file, and its Neo4j statement from the sibling file, if any. Raises `StoreError` if the file
    is malformed."""
    form = _FORM.fullmatch(path.read_text(encoding="utf-8"))
    parameters = [_parameter(line) for line in (form["parameters"] or "").splitlines()] if form else []
    if form is None or None in parameters:
        raise StoreError(
            f"{path}: the comment at the top does not describe a query; use the format in cypher/README.md"
        )
    summary = " ".join(line.removeprefix("// ") for line in form["summary"].splitlines())
    statement = form["statement"].strip()
    sibling = path.with_name(f"{path.stem}.neo4j.cypher")
    for_neo4j = (
        re.sub(r"^//.*\n", "", sibling.read_text(encoding="utf-8"), flags=re.M) if sibling.exists() else statement
    )
    statements: dict[Engine, str] = {"embedded": embedded(statement), "neo4j": for_neo4j.strip()}
    return NamedQuery(path.stem, form["group"], summary, tuple(filter(None, parameters)), form["example"], statements)


def _parameter(line: str) -> Parameter | None:
    match = _PARAMETER.fullmatch(line)
    if match is None:
        return None
    name, kind, default, description = match.groups()
    value = None if default is None else _typed(plain(default), kind)
    return None if default is not None and value is None else Parameter(name, cast(Type, kind), value, description)


_WANTED = {
    "string": "a string",
    "paper": "the id of a paper",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "strings": 'a list of strings, such as a,b or ["a", "b"]',
}


def _typed(value: Any, kind: str) -> Value | None:
    if kind in ("string", "paper"):
        return value if isinstance(value, str) else None
    if kind == "strings":
        return _strings(value)
    if isinstance(value, str):
        value = plain(value.strip().lower())
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 2**63:
        return None  # reject NaN, infinity, and numbers beyond the engines' range
    if kind == "number":
        return float(value)
    return int(value) if int(value) == value else None


def _strings(value: Any) -> tuple[str, ...] | None:
    """Returns the items of a list of strings, or None if the value is invalid. Empty lists are invalid, because neither
    engine can infer their type."""
    if isinstance(value, str):
        value = plain(value) if value.lstrip().startswith("[") else [part.strip() for part in value.split(",")]
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, str) for item in value):
        return tuple(value)
    return None


def _nearest(name: str, known: Mapping[str, NamedQuery]) -> list[str]:
    """Returns names with a similar spelling, followed by names that share a word."""
    wanted = name.casefold()
    words = set(re.split(r"[\W_]+", wanted))
    alike = difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)
    kin = [each for each in known if words & set(each.split("-")) and each not in alike]
    return (alike + kin)[:5] or list(known)[:5]


def _quoted(value: object) -> str:
    return json.dumps(value, default=str)[:80]


_FIRST_PART = re.compile(r"\bsplit\((\w+(?:\.\w+)?), ('[^']')\)\[0\]")


def embedded(statement: str) -> str:
    """Returns the statement for LadybugDB, which lacks `split` and whose list indexes start at 1."""
    return _FIRST_PART.sub(r"split_part(\1, \2, 1)", statement)


def folder() -> Path:
    """Returns the folder `cypher/`."""
    packaged = Path(__file__).parent / "files"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "cypher"


def embedded_schema() -> str:
    """Returns the statements that create an embedded graph's tables."""
    return (folder() / "schema" / "embedded.cypher").read_text(encoding="utf-8")
