"""Runs a measurement as a command."""

import json
import sys
from collections.abc import Callable
from statistics import StatisticsError
from typing import NoReturn

from xkg.cli.display.wording import for_people
from xkg.errors import XkgError


def run_command(main: Callable[[], int | None]) -> NoReturn:
    """Exits with the status that `main` returns. Exits with status 1 and one line of text if it raises `XkgError`, a
    file or a server cannot be reached, an input is not JSON, or there is too little to measure."""
    try:
        sys.exit(main())
    except XkgError as error:
        sys.exit(for_people(str(error)))
    except json.JSONDecodeError as error:
        sys.exit(f"an input is not JSON ({error}, in {error.doc[:60]!r}): correct it")
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        sys.exit(f"{what}{error.strerror or error}; correct the path or the address, then run this again")
    except StatisticsError as error:
        sys.exit(f"there is too little to measure ({error}): give a larger graph, or more gold")
