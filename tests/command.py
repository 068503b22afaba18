"""Runs the command line in this process."""

import pytest

from xkg.cli.main import main


def run(*arguments: object) -> int:
    """Returns the exit status of `xkg` with these arguments."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    return int(ended.value.code or 0)
