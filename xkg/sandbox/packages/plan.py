"""What is installed for a request: the wheels of a resolved set, and the progress of their installation."""

from collections.abc import Sequence

from pydantic import Field

from xkg.value import Value

_NAMED = 3


class Locked(Value):
    """A wheel of a resolved set; `size` is bytes on disk, `download` those of its file."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    version: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+!-]*$")
    url: str
    sha256: str = Field(pattern=r"^([0-9a-f]{64})?$")
    size: int
    download: int = 0

    @property
    def pin(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def line(self) -> str:
        """As a line of a requirements file, which leaves nothing to an index."""
        return f"{self.name} @ {self.url}" + (f" --hash=sha256:{self.sha256}" if self.sha256 else "")


class Plan(Value):
    """`dated`: versions of the requested day; else the newest, since these give more of the packages. `provided` maps
    imports to the pins of the wheels that have them, `left_out` declared packages to the reason; `incomplete` as in
    `Environment`."""

    wheels: tuple[Locked, ...]
    missing: dict[str, str]
    left_out: dict[str, str] = Field(default={})
    provided: dict[str, str] = Field(default={})
    incomplete: bool
    dated: bool = False


class Done(Value):
    error: str | None


class Installing(Value):
    """Packages that are being installed: megabytes to download and already downloaded, and on disk in the end."""

    packages: str
    total_mb: int
    disk_mb: int
    done_mb: int = 0

    @classmethod
    def of(cls, plan: Plan, new: Sequence[Locked]) -> "Installing":
        """Wheels of a plan that are not in the store. The largest that the code imports are named."""
        imported = [wheel for wheel in new if wheel.pin in plan.provided.values()] or new
        named = [f"{w.name} {w.version}" for w in sorted(imported, key=lambda w: -w.download)[:_NAMED]]
        more = f" and {len(new) - len(named)} more packages" if len(new) > len(named) else ""
        return cls(
            packages=", ".join(named) + more,
            total_mb=sum(wheel.download for wheel in new) >> 20,
            disk_mb=sum(wheel.size for wheel in new) >> 20,
        )

    def __str__(self) -> str:
        done = f", {self.done_mb:,} MB downloaded" if self.done_mb else ""
        return f"installing {self.packages}: {self.total_mb:,} MB to download, {self.disk_mb:,} MB on disk{done}"
