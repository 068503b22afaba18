"""Implements `xkg key`, `xkg trust` and `xkg token`, which manage your signing key, the keys that you trust, and tokens
for the HTTP server."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from xkg.cli.command import command
from xkg.cli.display.output import Json, print_text
from xkg.errors import InputError

if TYPE_CHECKING:
    from xkg.attestations.trust import TrustedKey
    from xkg.config import Settings

trust_app = typer.Typer(help="Manage the keys whose attestations you trust.")
token_app = typer.Typer(help="Manage access tokens for the HTTP server.")


@command()
def key(
    name: Annotated[str | None, typer.Option(help="Name that others see; creates a key if you have none.")] = None,
) -> str:
    """Print your public key, so that others can trust it with `xkg trust add`; `xkg verify --attest` signs with the
    private key."""
    from xkg.attestations import keys, trust

    if name is not None:
        trust.add(keys.make_key(name))
    elif not keys.own_key_file().exists():
        raise InputError("you have no key; create one with `xkg key --name NAME` (your own graphs trust it)")
    return keys.own_public_line()


@trust_app.command("add")
@command()
def add(
    key: Annotated[str, typer.Argument(help="A line such as `ssh-ed25519 AAAA… NAME`, or a .pub file.")],
    name: Annotated[str, typer.Option(help="Your name for the key, instead of the name in the key.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Trust the key again after it was revoked.")] = False,
) -> str:
    """Trust attestations signed with a given key in all your graphs."""
    from xkg.attestations import keys, trust

    return f"trusted: {_line(trust.add(keys.read_public_key(key), name, again=again))}"


@trust_app.command("list")
@command()
def trust_list(as_json: Json = False) -> None:
    """List the keys, including revoked ones."""
    from xkg.attestations import trust

    known = trust.trusted().keys
    if as_json:
        print_text(json.dumps([_fields(each) for each in known], indent=2))
        return
    if not known:
        print_text("no keys are trusted; `xkg trust add KEY` adds a key", err=True)
    for each in known:
        print_text(_line(each))


@trust_app.command("revoke")
@command()
def trust_revoke(name: Annotated[str, typer.Argument(help="Name or fingerprint of a key.")]) -> str:
    """Stop trusting a key immediately, including on running servers."""
    from xkg.attestations import trust

    return f"revoked: {_line(trust.revoke(name))}"


@token_app.command("create")
@command()
def create(
    settings: "Settings",
    name: Annotated[str, typer.Argument(help="Name of the token holder.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(help="Scope of the token: read, build, agents, run or admin (repeatable; default: read)."),
    ] = None,
    graph: Annotated[
        list[str] | None, typer.Option(help="Name of a graph that the token can read (repeatable; default: all).")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="Time to live, such as 12h, 90d or 4w (default: unlimited).")
    ] = None,
) -> None:
    """Print a new token. The token is shown only once, because the graph's folder stores only its hash."""
    from xkg.serve.http.tokens import Tokens, lifetime, scopes_of

    until = None if expires is None else lifetime(expires)
    print_text(Tokens(settings.kg).create(name, scopes_of(scope or ["read"]), until, graph or ()))
    print_text("save the token, which is not shown again; clients send it as `Authorization: Bearer TOKEN`", err=True)


@token_app.command("list")
@command()
def token_list(settings: "Settings", as_json: Json = False) -> None:
    """List the tokens, without their secrets."""
    from datetime import UTC, datetime

    from xkg.serve.http.tokens import Tokens

    now = datetime.now(UTC)
    tokens = Tokens(settings.kg).all()
    if as_json:
        rows = [{**token.model_dump(mode="json", exclude={"sha256"}), "state": token.state(now)} for token in tokens]
        print_text(json.dumps(rows, indent=2))
        return
    if not tokens:
        print_text("there are no tokens; `xkg token create NAME` creates one", err=True)
    for token in tokens:
        until = f"until {token.expires:%Y-%m-%d %H:%M} UTC" if token.expires else "no end"
        graphs = f"; graphs {', '.join(token.graphs)}" if token.graphs else ""
        print_text(f"{token.name:<24} {token.state(now):<8} {','.join(token.scopes):<27} {until}{graphs}")


@token_app.command("revoke")
@command()
def token_revoke(settings: "Settings", name: Annotated[str, typer.Argument(help="Name of a token.")]) -> str:
    """Revoke a token immediately, including on running servers."""
    from xkg.serve.http.tokens import Tokens

    Tokens(settings.kg).revoke(name)
    return f"revoked {name}"


def _line(key: "TrustedKey") -> str:
    state = f"since {key.added}" if key.revoked is None else f"revoked {key.revoked}"
    return f"{key.name}  {key.key.fingerprint}  {state}"


def _fields(key: "TrustedKey") -> dict[str, str | None]:
    fields = {"name": key.name, "fingerprint": key.key.fingerprint, "key": key.key.line}
    return {**fields, "added": key.added, "revoked": key.revoked}
