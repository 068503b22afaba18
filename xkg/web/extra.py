"""What the pages need beyond xkg itself: the extra `web`."""

import importlib.util

from xkg.errors import ConfigError

NEEDED = ("jinja2", "latex2mathml", "pygments")
PLOTS = (*NEEDED, "matplotlib")


def missing_packages(names: tuple[str, ...] = PLOTS) -> list[str]:
    return [name for name in names if importlib.util.find_spec(name) is None]


def has_extra(names: tuple[str, ...] = NEEDED) -> bool:
    return not missing_packages(names)


def require_extra(names: tuple[str, ...] = NEEDED) -> None:
    """Raises `ConfigError` that says how to install it."""
    if not has_extra(names):
        raise ConfigError("pages need the extra web: pip install 'xkg[web]'")
