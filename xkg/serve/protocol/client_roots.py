"""Lets `locate` accept a stdio client's roots, which are the folders that the client has open, in addition to the
server's folders.

Roots are chosen by the user, not by the model. Client roots are used only if the operator has not configured any
folders (`serve.roots`). Over HTTP, client roots are ignored, because they are folders on a different machine. A client
may offer no roots, or use a protocol version without requests to clients (2026-07-28, which deprecates roots)."""

import os
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anyio import ClosedResourceError, fail_after
from mcp.server.context import ServerMiddleware
from mcp.shared.exceptions import MCPError
from mcp_types import ClientCapabilities, ListRootsRequest, ListRootsResult, RootsCapability

from xkg.serve.allowed_folders import may_be_opened

WAIT_SECONDS = 2.0
MOST = 50
_OFFERED = ClientCapabilities(roots=RootsCapability())


def following(folders: list[Path]) -> ServerMiddleware[Any]:
    """Returns middleware that adds the client's roots to `folders` before the first `locate`, and again whenever the
    roots have changed."""
    own = tuple(folders)
    known = False

    async def middleware(ctx: Any, call_next: Any) -> Any:
        nonlocal known
        if ctx.method == "notifications/roots/list_changed":
            known = False
        elif ctx.method == "tools/call" and not known and (ctx.params or {}).get("name") == "locate":
            known = True
            folders[:] = [*own, *(root for root in await _roots(ctx.session) if root not in own)]
        return await call_next(ctx)

    return middleware


async def _roots(session: Any) -> Sequence[Path]:
    if not session.check_client_capability(_OFFERED):
        return ()
    try:
        with fail_after(WAIT_SECONDS):
            listed = await session.send_request(ListRootsRequest(), ListRootsResult)
    except (MCPError, TimeoutError, ClosedResourceError):
        return ()
    found = (_folder(str(root.uri)) for root in listed.roots[:MOST])
    return tuple(dict.fromkeys(folder for folder in found if folder is not None))


def _folder(uri: str) -> Path | None:
    """Returns the folder for a local `file://` URL with links resolved, or None for anything else."""
    parts = urllib.parse.urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    try:
        path = urllib.parse.unquote(parts.path)
        folder = Path(path.removeprefix("/") if os.name == "nt" else path).resolve()
        return folder if folder.is_dir() and may_be_opened(folder) else None
    except (OSError, ValueError, RuntimeError):
        return None
