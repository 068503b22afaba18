"""The server's title, homepage and icon for clients. Every answer repeats them, so the icon is a URL and not a
picture."""

from importlib.metadata import PackageNotFoundError, metadata

from mcp_types import Icon


def website() -> str | None:
    """The homepage that the package was built with, if any."""
    try:
        urls = metadata("xkg").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    return dict(url.split(", ", 1) for url in urls).get("Homepage")


def icons() -> list[Icon] | None:
    """The icon of the web pages in the repository. None if the package names no homepage."""
    home = website()
    if home is None:
        return None
    return [Icon(src=f"{home}/raw/HEAD/xkg/web/static/icon.svg", mime_type="image/svg+xml", sizes=["any"])]
