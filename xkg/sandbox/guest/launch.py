"""The Landlock runner's first process: a script that drops root, enters its Landlock domain, and supervises the job.

The script reads one JSON object from `xkg.sandbox.isolation.landlock` on standard input. The script then writes one
line to the descriptor `status`: the job's wait status, or `refused` and the reason if the job could not be started."""

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from xkg.sandbox.guest import landlock
from xkg.sandbox.guest.supervisor import keep

_CAP_DAC_READ_SEARCH = 2
_CAPABILITY_VERSION_3 = 0x20080522
_PR_SET_KEEPCAPS, _PR_CAP_AMBIENT = 8, 47


def main() -> None:
    plan = json.load(sys.stdin)
    status, leash = plan["status"], plan["leash"]
    os.set_inheritable(status, False)
    os.set_inheritable(leash, False)
    with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("1000")
    try:
        if plan["uid"] is not None:
            leave_root(plan["uid"], pass_closed_folders=plan["pass_closed_folders"])
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


def leave_root(uid: int, *, pass_closed_folders: bool) -> None:
    """Switches to `uid` with no capabilities, or with only the capability to enter folders that are closed to `uid`."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    if pass_closed_folders:
        libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setresuid(uid, uid, uid)
    capabilities = 1 << _CAP_DAC_READ_SEARCH if pass_closed_folders else 0
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)(capabilities, capabilities, capabilities, 0, 0, 0)) != 0:
        raise OSError(ctypes.get_errno(), "cannot drop capabilities")
    if pass_closed_folders and libc.prctl(_PR_CAP_AMBIENT, 2, _CAP_DAC_READ_SEARCH, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot retain the right to enter closed folders")


if __name__ == "__main__":
    main()
