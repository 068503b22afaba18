"""Checks that the names in prose exist: commands and their options, settings and variables, extras, make targets,
modules, files, MCP tools and other identifiers."""

import re
import shlex
import subprocess
import tomllib
from functools import cache

import pytest

from scripts.reference.commands import all_commands
from scripts.reference.settings import settings as settings_page
from tests.conftest import ROOT

GENERATED = {"commands", "settings", "json", "mcp", "python", "queries", "schema"}
PAGES = [
    *(
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "plugin/skills/xkg/SKILL.md",
        "evaluation/README.md",
    ),
    *(
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if path.parent.name != "reference" or path.stem not in GENERATED
    ),
]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
COMMANDS = {command.name: command for command in all_commands()}
OPTIONS = {
    name: set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", " ".join(given for given, _ in command.parameters)))
    for name, command in COMMANDS.items()
}
OF_ALL = OPTIONS["xkg"] | {"--help", "-v", "--kg", "--version"}
TARGETS = set(re.findall(r"^([\w.-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
SETTINGS = set(re.findall(r"^\| `([\w.]+)`", settings_page(), re.MULTILINE))
SECTIONS = {name.rpartition(".")[0] for name in SETTINGS} | {name.partition(".")[0] for name in SETTINGS if "." in name}
VARIABLES = {"XKG_" + name.upper().replace(".", "__") for name in SETTINGS}
TREE = ("xkg/", "docs/", "evaluation/", "tests/", "scripts/", "cypher/", "examples/", "plugin/", ".github/")
BRANCH = "xkg/RUN"
OF_OTHERS = {"--isolation", "--model-cost-config", "get_tools", "llm.top_files", "load_mcp_tools", "raw_output"}
"""Lists options of podman and Inspect, names from LangChain and LlamaIndex, and a setting of a published system."""


@cache
def source() -> str:
    """Returns all tracked code and data, and the generated pages."""
    folders = ("xkg", "evaluation", "scripts", "cypher", "tests/*.py", "docs/reference", "*.toml", "*.yaml")
    command = ["git", "ls-files", *folders, ":!tests/docs/test_names.py"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    suffixes = (".py", ".md", ".html", ".js", ".cypher", ".toml", ".yaml", ".yml")
    known = [ROOT / name for name in listed if name.endswith(suffixes)]
    return "\n".join(path.read_text(encoding="utf-8") for path in known if path.is_file())


def spans(page: str) -> list[str]:
    """Yields the code in a page's prose, and the lines of its shell blocks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    shell = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line.partition(" #")[0].strip() for block in shell for line in block.replace("\\\n", " ").splitlines()]
    return [" ".join(span.split()) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", prose)] + lines


def wrong_command(span: str) -> str | None:
    """Returns the first name that a call to `xkg` uses and that does not exist."""
    try:
        words = shlex.split(span.split(" -- ")[0].split(" | ")[0])
    except ValueError:  # the span is a part of a line
        words = span.split()
    name, rest = "xkg", [word.strip("[]…,;") for word in words[1:]]
    if rest[:1] == ["--kg"]:
        rest = rest[2:]
    while rest and COMMANDS[name].group and re.fullmatch(r"[a-z][a-z-]*", rest[0]):
        if f"{name} {rest[0]}" not in COMMANDS:
            return f"{name} {rest[0]}"
        name, rest = f"{name} {rest[0]}", rest[1:]
    known = OPTIONS[name] | OF_ALL
    options = [word.partition("=")[0] for word in rest if re.fullmatch(r"--[a-z][\w-]*(?:=.*)?", word)]
    return next((f"{name} {option}" for option in options if option not in known), None)


def wrong(span: str) -> str | None:
    """Returns the name in a span that does not exist, or None if all names exist."""
    if re.split(r"[ =]", span)[0] in OF_OTHERS:
        return None
    if span == "xkg" or span.startswith("xkg "):
        return wrong_command(span)
    if found := re.fullmatch(r"(?:[A-Z]+=\S+ )*make ([\w.-]+)(?: .*)?", span):
        return None if found[1] in TARGETS else span
    if re.fullmatch(r"--[a-z][\w-]*(?:[ =].*)?", span):
        option = re.split(r"[ =]", span)[0]
        ours = any(option in options for options in OPTIONS.values()) or option in OF_ALL
        return None if ours or f'"{option}"' in source() or f" {option}" in source() else span
    if found := re.search(r"python3? -m ((?:evaluation|xkg|scripts)[\w.]*)", span):
        path = ROOT / found[1].replace(".", "/")
        return None if path.with_suffix(".py").is_file() or (path / "__main__.py").is_file() else span
    if found := re.search(r"\bxkg\[([\w,]+)\]", span):
        return next((f"xkg[{extra}]" for extra in found[1].split(",") if extra not in EXTRAS), None)
    if re.fullmatch(r"XKG_\w+", span):
        return None if span in VARIABLES or span in source() else span
    if span.startswith(TREE) and re.fullmatch(r"[\w./-]+", span) and span != BRANCH:
        return None if (ROOT / span).exists() else span
    if found := re.fullmatch(r"([a-z]\w*(?:\.[a-z]\w*)+)(?: .*)?", span):
        if found[1].rpartition(".")[0] in SECTIONS and found[1].rpartition(".")[2] not in ("py", "sqlite"):
            return None if found[1] in SETTINGS or found[1] in SECTIONS else span
        return None
    if re.fullmatch(r"[a-z]+(?:_[a-z]+)+", span):  # the name may be an MCP tool, an argument, a field or a setting
        return None if re.search(rf"\b{span}\b", source()) else span
    return None


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page: str) -> None:
    assert [named for span in spans(page) if (named := wrong(span))] == []


def test_all_extras_are_described() -> None:
    table = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/howto/install.md").read_text(), re.MULTILINE)
    assert set(table) == set(EXTRAS)
