"""Runs as the Landlock runner's first process. This script drops root, enters its Landlock domain, and supervises the
job.

The script reads one JSON object from `xkg.sandbox.isolation.landlock` on standard input. The script then writes one
line to the descriptor `status`. The line contains the job's wait status, or `refused` and the reason if it could not be
started."""

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from xkg.sandbox.guest import landlock
from xkg.sandbox.guest.supervisor import keep


def main() -> None:
    plan = json.load(sys.stdin)
    status, leash = plan["status"], plan["leash"]
    os.set_inheritable(status, False)
    os.set_inheritable(leash, False)
    with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("1000")
    try:
        if plan["uid"] is not None:
            landlock.leave_root(plan["uid"], pass_closed_folders=plan["pass_closed_folders"])
        if plan["abi"] >= landlock.SCOPES_FROM:
            landlock.restrict(plan["abi"], None)
    except OSError as error:
        os.write(status, f"refused {error}\n".encode())
        return

    def become() -> None:
        try:
            _become(plan)
        except (OSError, ValueError) as error:
            os.write(status, f"refused {error}\n".encode())
        os._exit(127)

    ended = keep(become, leash, alone=plan["uid"] is not None or plan["abi"] >= landlock.SCOPES_FROM)
    os.write(status, f"{ended}\n".encode())


def _become(plan: dict[str, Any]) -> None:
    os.setsid()
    stdin = os.open("/dev/null", os.O_RDONLY) if plan["stdin"] is None else plan["stdin"]
    os.dup2(stdin, 0)
    os.close(stdin)
    os.chdir(plan["folder"])
    landlock.set_limits(plan["limits"])
    landlock.restrict(plan["abi"], [(place, rights) for place, rights in plan["paths"]], plan["port"])
    landlock.filter_calls(bytes.fromhex(plan["filter"]))
    os.execve(plan["command"][0], plan["command"], plan["variables"])


if __name__ == "__main__":
    main()
