"""What clients show of the server beside its name."""

import base64
from importlib.metadata import PackageNotFoundError, metadata
from importlib.resources import files

from mcp_types import Icon


def icon() -> Icon:
    """The icon of the pages, inside its own address: a client over stdio has no server to fetch it from."""
    picture = base64.b64encode((files("xkg") / "web" / "static" / "icon.svg").read_bytes()).decode()
    return Icon(src=f"data:image/svg+xml;base64,{picture}", mime_type="image/svg+xml", sizes=["any"])


def website() -> str | None:
    """The homepage that the package was built with, if any."""
    try:
        urls = metadata("xkg").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    return dict(url.split(", ", 1) for url in urls).get("Homepage")
