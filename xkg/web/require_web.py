"""Checks that the dependencies for pages (the extra `web`) are installed."""

import importlib.util

from xkg.errors import ConfigError, install_extra

NEEDED = ("jinja2", "latex2mathml", "pygments")


def missing_packages() -> list[str]:
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def has_extra() -> bool:
    return not missing_packages()


def require_extra() -> None:
    """Raises `ConfigError` with installation instructions if the extra is missing."""
    if not has_extra():
        raise ConfigError(f"pages need the extra web; {install_extra('web')}")
