"""Parses a repository's requirement lines. Finds the versions of distributions, and packages that do not come from the
registry."""

import re
from collections.abc import Iterator, Mapping, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from xkg.text.address import repository_address

# These distributions replace others that need a display or an accelerator. Replacements have the same version numbers.
LIGHTER = {
    "faiss-gpu": "faiss-cpu",
    "onnxruntime-gpu": "onnxruntime",
    "opencv-contrib-python": "opencv-contrib-python-headless",
    "opencv-python": "opencv-python-headless",
    "psycopg2": "psycopg2-binary",
    "tensorflow": "tensorflow-cpu",
    "tensorflow-gpu": "tensorflow-cpu",
    "xgboost": "xgboost-cpu",
}
# Matches CUDA packages, which are installed with the wheels that need them or are already on the machine.
_CUDA = re.compile(r"cuda.*|cudnn.*|nccl|nvidia-.*|pytorch-(cuda|mutex)")
_ACCELERATOR = re.compile(r"cuda|gpu|tpu|rocm|metal")
_LONGEST = 500
_GIT = re.compile(r"(?:(?P<name>[\w.-]+)\s*+(?:\[[^\]]*\]\s*+)?@\s*+)?git\+(?P<url>\w+://\S+)")


def version_hints(lines: Sequence[str], python: str | None = None) -> dict[str, str]:
    """Maps canonical names to requirement lines, without extras for accelerators. `python` is the Python version (such
    as 3.8.10), xkg's own by default. If several lines specify a package, the first line with versions or extras is
    used, without local version labels (`1.0+cu113`). Ignores options, links, paths, and lines whose markers do not
    apply. If a line's versions cannot be parsed, only the name is used."""
    hints: dict[str, str] = {}
    place = {"python_version": python.rpartition(".")[0], "python_full_version": python} if python else None
    for line in lines:
        text = re.sub(r"(==[ \t]*+[\w.]++)\+[\w.]++", r"\1", _plain(line))
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            if not (named := re.fullmatch(r"([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*[<>=!~][^@/]*", text, re.A)):
                continue
            requirement = Requirement(named[1])
        try:
            if requirement.url or (requirement.marker and not requirement.marker.evaluate(place)):
                continue
        except ValueError:
            continue
        stated = canonicalize_name(requirement.name)
        name = canonicalize_name(LIGHTER.get(stated, stated))
        extras = ",".join(sorted(e for e in requirement.extras if name == stated and not _ACCELERATOR.search(e)))
        if name not in hints or hints[name] == name:
            hints[name] = f"{name}{extras and f'[{extras}]'}{requirement.specifier}"
    return hints


def is_cuda(name: str) -> bool:
    """Returns whether a package, given by its canonical name, is a CUDA toolkit or driver."""
    return bool(_CUDA.fullmatch(name))


def repository_sources(lines: Sequence[str]) -> dict[str, str]:
    """Maps the canonical name of each package from a git repository to the repository's host and path."""
    places: dict[str, str] = {}
    for line in lines:
        if match := _GIT.match(line.strip()):
            if (repository := repository_address(match["url"][:_LONGEST])) is None:
                continue
            place = f"{repository.server}/{repository.path}"
            egg = re.search(r"\begg=([\w.-]+)", match["url"].partition("#")[2])
            name = match["name"] or (egg[1] if egg else place.rpartition("/")[2])
            places.setdefault(canonicalize_name(name), place)
    return places


def version_differences(hints: Mapping[str, str], pins: Sequence[str]) -> Iterator[str]:
    """Describes each pin (name==version) that differs from the required version."""
    for pin in pins:
        name, _, version = pin.partition("==")
        requested = hints.get(canonicalize_name(name), name)
        try:
            specifier = Requirement(requested).specifier
            if not specifier.contains(Version(version), prereleases=True):
                yield f"{name} {version} for {specifier}"
        except (InvalidRequirement, InvalidVersion):
            continue


def _plain(line: str) -> str:
    return re.sub(r"(^|\s)#.*|\s--\w.*|(?<!\s)\s*+\\$", "", line).strip()
