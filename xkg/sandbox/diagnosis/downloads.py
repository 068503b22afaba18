"""Finds the download that a failed run needed, from the addresses that it tried to reach (`guest.network_record`)."""

import json
import re
from collections.abc import Iterator, Sequence

from xkg.text.address import address
from xkg.value import Value

_FRAME = re.compile(r'File "[^"\n]*?/work/([^"\n]{1,300})", line (\d{1,7})')
NETWORK = (
    "Network is unreachable|[Nn]ame resolution|Name or service not known|gaierror|getaddrinfo|Max retries exceeded"
    "|Could not resolve host|unable to resolve host"
)
"""Matches error messages from Python, curl, git and wget when there is no network."""

_UNRESOLVED = re.compile(r"(?:Could not|unable to) resolve host(?: address)?:? [‘'\"]?([A-Za-z0-9][\w.-]{0,252})")
_SIZE = re.compile(r"(?i)download[^\n]{0,200}?(\d[\d.,]{0,9} ?[KMG]i?B)\b")


_MOST_HOSTS = 4


class Reached(Value):
    """An address that code tried to reach, with its host and port. `place` is the line of the command's own code that
    was running (`train.py:8`), and `library` is the package that it called. `place` and `library` are empty if
    unknown."""

    address: str
    host: str
    port: int
    place: str
    library: str

    @property
    def named(self) -> str:
        """Returns the host as written in the list of allowed hosts, without port 80 or 443."""
        return self.host if self.port in (80, 443) else f"{self.host}:{self.port}"


def reached(record: str) -> tuple[Reached, ...]:
    """Parses the lines of a network record, skipping addresses on this machine. The record is untrusted."""
    return tuple(_reached(record))


def _reached(record: str) -> Iterator[Reached]:
    for line in record.splitlines():
        try:
            where, port, place, library = map(str, json.loads(line))
            found = address(where if "://" in where else f"https://{where}:{int(port) if port.isdigit() else 443}")
        except (ValueError, TypeError):
            continue
        if found.host and not found.is_loopback:
            yield Reached(address=where, host=found.host, port=found.port, place=place, library=library)


def wanted(found: Sequence[Reached], output: str) -> tuple[Reached, ...]:
    """Returns the addresses that the failing statement tried to reach. If there are no such addresses, returns hosts
    that the output reports as unresolved. If the run ended with a network error, the result also contains all of
    `found`."""
    frames = {f"{path}:{line}" for path, line in _FRAME.findall(output.rpartition("Traceback (most recent")[2])}
    if at := tuple(each for each in found if each.place in frames):
        return at
    # curl (used by yfinance) and git leave no network record.
    named = dict.fromkeys(host.rstrip(".") for host in _UNRESOLVED.findall(output))
    others = [Reached(address=f"https://{host}", host=host, port=443, place="", library="") for host in named]
    return (*(found if is_of_network(output) else ()), *others[:_MOST_HOSTS])


def is_of_network(output: str) -> bool:
    """Returns whether the last line of the output reports a network failure."""
    return bool(re.search(NETWORK, next((line for line in reversed(output.splitlines()) if line.strip()), "")))


def stated_size(output: str) -> str:
    """Returns the download size stated in the output, or '' if there is none."""
    found = _SIZE.search(output)
    return found[1] if found else ""
