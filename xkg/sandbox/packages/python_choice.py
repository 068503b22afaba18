"""Chooses the Python version for a repository's code from the version it asks for and the wheels available for its
pins."""

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import date

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet

from xkg.sandbox.isolation.interpreters import OLDEST, own
from xkg.sandbox.packages.plan import VERSIONS, Offer

PYTHON = "python"
"""A requirement with this name applies to the interpreter, such as `python==3.7.*`."""
_SUPPORTED_BY_UV = 8


def asked(hint: str | None) -> SpecifierSet:
    """Returns the Python versions that a requirement line for `python` allows, or all versions if there is no such
    line."""
    try:
        return Requirement(hint or PYTHON).specifier
    except InvalidRequirement:
        return SpecifierSet()


def allowed(versions: Iterable[str], specifier: SpecifierSet) -> list[str]:
    """Returns the versions (such as "3.8") whose late patch releases (such as 3.8.20) satisfy a specifier."""
    return [version for version in versions if specifier.contains(f"{version}.20")]


def wanted(specifier: SpecifierSet) -> str | None:
    """Returns the version to install for a specifier. If the specifier has an upper bound, this is the last version
    before it. Otherwise, the first allowed version is used, because it has the most wheels. Returns None if no version
    is allowed."""
    fitting = allowed(VERSIONS, specifier)
    return next(iter(fitting if VERSIONS[0] not in fitting else fitting[::-1]), None)


def first_day(minor: int) -> str:
    """Returns the day by which the numerical packages had wheels for a Python version. Packages from that day have
    removed the fewest APIs that older code uses."""
    # Since 3.9, Python versions are released every October (PEP 602).
    return date(2011 + minor, 12, 1).isoformat()


def version_of(written: str | None) -> str | None:
    """Returns the latest supported Python version for which packages existed when the code was written. Returns None if
    `written` is unknown or xkg's own version can be used."""
    if not written or written >= first_day(own().minor):
        return None
    minors = [minor for minor in range(OLDEST, own().minor) if first_day(minor) <= written]
    return f"3.{max(minors, default=OLDEST)}"


def nearest(specifier: SpecifierSet, versions: Collection[str]) -> str | None:
    """Returns the latest allowed version, or else the first version after all allowed versions. Returns None if there
    is no such version."""
    if fitting := allowed(versions, specifier):
        return max(fitting, key=_minor)
    past = allowed((f"3.{minor}" for minor in range(OLDEST)), specifier) + allowed(VERSIONS, specifier)
    later = [version for version in versions if past and _minor(version) > max(map(_minor, past))]
    return min(later, key=_minor, default=None)


def with_most_wheels(offers: Iterable[Offer], versions: Collection[str]) -> list[str]:
    """Returns the Python versions with wheels for requirements that have no wheel for the current version. Versions
    with wheels for the most requirements come first. Ties are in descending order of version."""
    served = Counter(version for offer in offers for version in offer.pythons if version in versions)
    return sorted(served, key=lambda version: (-served[version], -_minor(version)))


def where_wheels_are(offers: Iterable[Offer], used: str) -> list[str]:
    """Returns lines about requirements that have wheels only for Python versions other than `used`."""
    places: dict[tuple[str, ...], list[str]] = {}
    for offer in offers:
        if offer.pythons and used not in offer.pythons:
            places.setdefault(tuple(sorted(offer.pythons, key=_minor)), []).append(offer.line)
    return [
        f"{', '.join(lines)} {'needs' if len(lines) == 1 else 'need'} Python {_range(versions)}, "
        f"which is not installed; run `{install(versions[-1])}`"
        for versions, lines in places.items()
    ]


def install(version: str) -> str:
    """Returns the command that installs a Python version."""
    return f"{'uv python install' if _minor(version) >= _SUPPORTED_BY_UV else 'pyenv install'} {version}"


def _range(versions: tuple[str, ...]) -> str:
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def _minor(version: str) -> int:
    return int(version.partition(".")[2])
