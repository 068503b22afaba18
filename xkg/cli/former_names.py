"""Translates former command names, which work until the next release but print a note."""

import typer

_NOW = {
    "find": ("search", "--task"),
    "related": ("show", "--related"),
    "ablations": ("ablate", "plan"),
    "report": ("explore", "--save"),
    "link": ("concepts",),
    "audit": ("check-blacklist",),
}


def renamed(words: list[str]) -> list[str]:
    """Returns the words of a command line, which begins with a command. A former name is replaced with the current
    one."""
    if not words or words[0] not in _NOW:
        return words
    former, *rest = words
    now = _NOW[former]
    if "--help" not in rest:
        typer.echo(
            f"note: `xkg {former}` is now `xkg {' '.join(now)}`; the next release removes the old name", err=True
        )
    if former == "report":
        if any(word.split("=")[0] == "--to" for word in rest):
            return [
                "explore",
                *(word.replace("--to", "--save", 1) if word.startswith("--to") else word for word in rest),
            ]
        return [*now, "report.html", *rest]
    if former == "audit":
        rest = [word.removeprefix("--blacklist=") for word in rest if word != "--blacklist"]
    return [*now, *rest]
