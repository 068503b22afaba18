"""Defines data types for a resolved set's wheels and for installation progress."""

from collections.abc import Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from pydantic import Field

from xkg.sandbox.isolation.interpreters import NEWEST, OLDEST
from xkg.value import Value

VERSIONS = tuple(f"3.{minor}" for minor in range(NEWEST, OLDEST - 1, -1))
"""The Python versions that code can run on, latest first."""

_NAMED = 3
_NAME, _VERSION = r"^[A-Za-z0-9][A-Za-z0-9._-]*$", r"^[A-Za-z0-9][A-Za-z0-9._+!-]*$"


class _Distribution(Value):
    name: str = Field(pattern=_NAME)
    version: str = Field(pattern=_VERSION)
    url: str
    sha256: str = Field(pattern=r"^([0-9a-f]{64})?$")

    @property
    def pin(self) -> str:
        return f"{self.name}=={self.version}"


class Locked(_Distribution):
    """A wheel in a resolved set. `size` is the wheel's unpacked size and `download` its download size, both in
    bytes."""

    size: int
    download: int = 0

    @property
    def line(self) -> str:
        """Returns a requirements file line that pins exactly this wheel."""
        return f"{self.name} @ {self.url}" + (f" --hash=sha256:{self.sha256}" if self.sha256 else "")


class Source(_Distribution):
    """A source distribution in the registry, with the day of its publication, if known."""

    day: str = Field(default="", pattern=r"^(\d{4}-\d\d-\d\d)?$")


class Offer(Value):
    """Alternatives for a requirement without a wheel: the names of wheels for other Python versions, and the source
    distribution."""

    line: str
    wheels: tuple[str, ...]
    source: Source | None

    @cached_property
    def pythons(self) -> tuple[str, ...]:
        """Returns the Python versions that have a wheel for this machine, latest first."""
        return tuple(version for version in VERSIONS if self._tags & _tags(version))

    @property
    def is_outdated(self) -> bool:
        """Returns whether the package has compiled wheels, but only for Python versions older than all supported ones.
        Its source then does not compile for supported versions either."""
        systems = {tag.platform for tag in _tags(VERSIONS[0])} - {"any"}
        return not self.pythons and any(tag.platform in systems for tag in self._tags)

    @cached_property
    def _tags(self) -> frozenset[Tag]:
        tags: frozenset[Tag] = frozenset()
        for name in self.wheels:
            with suppress(InvalidWheelFilename):
                tags |= parse_wheel_filename(name)[3]
        return tags


@cache
def _tags(version: str) -> frozenset[Tag]:
    python = (3, int(version.partition(".")[2]))
    return frozenset((*cpython_tags(python), *compatible_tags(python, f"cp3{python[1]}")))


class Plan(Value):
    """The wheels to install, and the reasons for any missing packages. The versions were available on `day`. If `day`
    is '', the newest versions are used, because these satisfy more imports. `provided` maps each import to the pin of
    the wheel that provides it. `left_out` maps each declared package that is not installed to the reason. `offers`
    lists alternatives for requirements that no wheel satisfies. `incomplete` and `python` have the same meaning as in
    `Environment`."""

    wheels: tuple[Locked, ...]
    missing: dict[str, str]
    left_out: dict[str, str] = Field(default={})
    provided: dict[str, str] = Field(default={})
    incomplete: bool
    python: Path | None = None
    day: str = ""
    offers: tuple[Offer, ...] = ()


class Done(Value):
    error: str | None


class Fetched(Done):
    """A source distribution's file name and build requirements."""

    file: str = Field(default="", pattern=r"^[A-Za-z0-9][\w.+!-]*\.(tar\.\w+|tgz|zip)$")
    requires: tuple[str, ...] = ()


class Installing(Value):
    """Packages being installed or built from source. The sizes are in megabytes: the total download, the part that has
    been downloaded, and the disk space needed after installation. `waiting` means that the installation waits for
    another process to finish installing."""

    packages: str
    total_mb: int
    disk_mb: int
    done_mb: int = 0
    from_source: bool = False
    waiting: bool = False

    @classmethod
    def of(cls, plan: Plan, new: Sequence[Locked]) -> "Installing":
        """Describes the wheels in a plan that are not in the store yet, and lists the largest wheels that the code
        imports."""
        imported = [wheel for wheel in new if wheel.pin in plan.provided.values()] or new
        named = [f"{w.name} {w.version}" for w in sorted(imported, key=lambda w: -w.download)[:_NAMED]]
        more = f" and {len(new) - len(named)} more packages" if len(new) > len(named) else ""
        return cls(
            packages=", ".join(named) + more,
            total_mb=sum(wheel.download for wheel in new) >> 20,
            disk_mb=sum(wheel.size for wheel in new) >> 20,
        )

    def __str__(self) -> str:
        if self.waiting:
            return f"waiting for {self.packages}"
        if self.from_source:
            return f"building {self.packages} from source"
        done = f", {self.done_mb:,} MB downloaded" if self.done_mb else ""
        return f"installing {self.packages}: {self.total_mb:,} MB to download, {self.disk_mb:,} MB on disk{done}"
