"""What the pages need beyond xkg itself: the extra `web`."""

import importlib.util

from xkg.errors import ConfigError

NEEDED = ("jinja2", "latex2mathml", "pygments")
PLOTS = (*NEEDED, "matplotlib")


def has_extra(names: tuple[str, ...] = NEEDED) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in names)


def require_extra(names: tuple[str, ...] = NEEDED) -> None:
    """Raises `ConfigError` that says how to install it."""
    if not has_extra(names):
        raise ConfigError("pages need the extra web: pip install 'xkg[web]'")
