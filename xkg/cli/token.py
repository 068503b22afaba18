"""`xkg token`: the tokens of the HTTP server."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from xkg.serve.http.tokens import Tokens

token_app = typer.Typer(help="Manage access tokens of the HTTP server.")


@token_app.command("create")
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the token's holder.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(help="Rights of the token: read, build, agents, run, admin (repeatable; default read)."),
    ] = None,
    graph: Annotated[
        list[str] | None, typer.Option(help="Name of a graph that the token can read (repeatable; default all).")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="Time to live, such as 12h, 90d or 4w; by default unlimited.")
    ] = None,
) -> None:
    """Print a new token. It is shown only once: the graph's folder stores only its hash."""
    from xkg.serve.http.tokens import lifetime, scopes_of

    tokens = _tokens(context)
    until = None if expires is None else lifetime(expires)
    typer.echo(tokens.create(name, scopes_of(scope or ["read"]), until, graph or ()))
    typer.echo("keep it: it is not shown again; a client sends it as `Authorization: Bearer TOKEN`", err=True)


@token_app.command("list")
def list_(context: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the tokens, without their secrets."""
    from datetime import UTC, datetime

    now = datetime.now(UTC)
    tokens = _tokens(context).all()
    if as_json:
        rows = [{**token.model_dump(mode="json", exclude={"sha256"}), "state": token.state(now)} for token in tokens]
        typer.echo(json.dumps(rows, indent=2))
        return
    if not tokens:
        typer.echo("there is no token; `xkg token create NAME` makes one", err=True)
    for token in tokens:
        until = f"until {token.expires:%Y-%m-%d %H:%M} UTC" if token.expires else "no end"
        graphs = f"; graphs {', '.join(token.graphs)}" if token.graphs else ""
        typer.echo(f"{token.name:<24} {token.state(now):<8} {','.join(token.scopes):<27} {until}{graphs}")


@token_app.command("revoke")
def revoke(context: typer.Context, name: Annotated[str, typer.Argument(help="Name of a token.")]) -> None:
    """Revoke a token, at once and also on running servers."""
    _tokens(context).revoke(name)
    typer.echo(f"revoked {name}")


def _tokens(context: typer.Context) -> "Tokens":
    from xkg.config import load
    from xkg.serve.http.tokens import Tokens

    return Tokens(load(kg=context.obj["kg"]).kg)
