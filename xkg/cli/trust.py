"""`xkg key` and `xkg trust`: the key that signs, and the keys whose attestations count."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from xkg.cli.display.output import Json, print_text

if TYPE_CHECKING:
    from xkg.attestations.trust import TrustedKey

trust_app = typer.Typer(help="Manage the keys whose attestations you trust.")


def key(
    name: Annotated[str | None, typer.Option(help="Name that others see; creates the key if you have none.")] = None,
) -> None:
    """Print your public key, for `xkg trust add` of others; `xkg verify --attest` signs with the private one."""
    from xkg.attestations import keys, trust
    from xkg.errors import InputError

    if name is not None:
        trust.add(keys.make_key(name))
    elif not keys.own_key_file().exists():
        raise InputError("you have no key: `xkg key --name NAME` makes one, which your own graphs trust")
    print_text(keys.own_public_line())


@trust_app.command("add")
def add(
    key: Annotated[str, typer.Argument(help="A line such as `ssh-ed25519 AAAA… NAME`, or a .pub file.")],
    name: Annotated[str, typer.Option(help="Your name for the key, instead of its owner's.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Trust the key again after it was revoked.")] = False,
) -> None:
    """Trust the attestations of a key, in all your graphs."""
    from xkg.attestations import keys, trust

    print_text(f"trusted: {_line(trust.add(keys.read_public_key(key), name, again=again))}")


@trust_app.command("list")
def list_(as_json: Json = False) -> None:
    """List the keys, including revoked ones."""
    from xkg.attestations import trust

    known = trust.trusted().keys
    if as_json:
        print_text(json.dumps([_fields(each) for each in known], indent=2))
        return
    if not known:
        print_text("no key is trusted; `xkg trust add KEY` adds one", err=True)
    for each in known:
        print_text(_line(each))


@trust_app.command("revoke")
def revoke(name: Annotated[str, typer.Argument(help="Name or fingerprint of a key.")]) -> None:
    """Stop trusting a key, at once and also on running servers."""
    from xkg.attestations import trust

    print_text(f"revoked: {_line(trust.revoke(name))}")


def _line(key: "TrustedKey") -> str:
    state = f"since {key.added}" if key.revoked is None else f"revoked {key.revoked}"
    return f"{key.name}  {key.key.fingerprint}  {state}"


def _fields(key: "TrustedKey") -> dict[str, str | None]:
    fields = {"name": key.name, "fingerprint": key.key.fingerprint, "key": key.key.line}
    return {**fields, "added": key.added, "revoked": key.revoked}
