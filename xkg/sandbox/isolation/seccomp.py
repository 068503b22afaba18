"""Builds a BPF program for `bwrap --seccomp` that denies system calls to code in the sandbox.

The filter is a deny list, because numerical libraries use a large and changing part of the kernel's interface. The
filter denies address families that a network namespace does not isolate (AF_VSOCK, netlink and others). Calls that
create namespaces or mounts are denied because they expose more kernel code, as are calls that inspect other processes.
Calls that allocate memory without charging it to a process (memfd, SysV shared memory) are denied because the watchdog
cannot see that memory. Names are from syscalls(2), and clone flags from clone(2)."""

import contextlib
import errno
import functools
import os
from dataclasses import dataclass
from typing import Any, Literal

from xkg.errors import SandboxUnavailableError

_FORBIDDEN = (
    # calls that affect other processes
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "process_mrelease",
    "pidfd_getfd",
    "kcmp",
    # calls that change namespaces and mounts
    "unshare",
    "setns",
    "mount",
    "umount",
    "umount2",
    "pivot_root",
    "chroot",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "statmount",
    "listmount",
    "open_tree_attr",
    "name_to_handle_at",
    "open_by_handle_at",
    "quotactl",
    "quotactl_fd",
    # kernel interfaces that numerical code does not use
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "keyctl",
    "add_key",
    "request_key",
    "lookup_dcookie",
    "fanotify_init",
    "fanotify_mark",
    "vmsplice",
    "personality",
    "modify_ldt",
    "vm86",
    "vm86old",
    "remap_file_pages",
    "migrate_pages",
    "move_pages",
    # calls that change machine-wide settings
    "init_module",
    "finit_module",
    "delete_module",
    "create_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "swapon",
    "swapoff",
    "acct",
    "syslog",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "stime",
    "sethostname",
    "setdomainname",
    "iopl",
    "ioperm",
    "nfsservctl",
    "uselib",
    "ustat",
    "sysfs",
    "_sysctl",
)

# If these calls are reported as "not implemented", programs use other calls instead.
# For example, glibc falls back from clone3 to clone, whose flags a filter can check.
_ABSENT = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_create", "memfd_secret")

_UNCHARGED = ("shmget", "shmat", "msgget", "semget", "mq_open")

_CLONE_NEW = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_INT = 0xFFFFFFFF  # the kernel reads these arguments as int, but a filter sees the whole register

# These calls have the same number on every architecture. Older versions of libseccomp do not know these calls.
_NUMBERS = {
    "process_madvise": 440,
    "process_mrelease": 448,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "memfd_secret": 447,
    "statmount": 457,
    "listmount": 458,
    "openat2": 437,
    "fchmodat2": 452,
    "setxattrat": 463,
    "removexattrat": 466,
    "open_tree_attr": 467,
    "file_setattr": 469,
}


@dataclass(frozen=True)
class Denied:
    """An additional rule: `call` is refused, reported as not implemented, or pretends to succeed. If `argument` is
    None, the rule always applies. Otherwise, the rule applies if the argument & `mask` equals `value` or, without a
    mask, if the argument differs from `value`."""

    call: str
    argument: int | None = None
    value: int = 0
    mask: int = 0
    answer: Literal["refused", "absent", "pretended"] = "refused"


# These calls affect other processes with the same uid, unless a namespace hides those processes.
# The argument 0 means the calling process itself.
OTHER_PROCESSES = (
    Denied("prlimit64", 0),
    Denied("setpriority", 0),
    Denied("setpriority", 1),
    Denied("ioprio_set", 0, value=1),
    Denied("ioprio_set", 1),
    *(Denied(f"sched_{call}", 0) for call in ("setaffinity", "setscheduler", "setparam", "setattr")),
)


@functools.cache
def program(*, unix_sockets: bool, more: tuple[Denied, ...] = ()) -> bytes:
    """Returns the filter for this machine's architecture. If `unix_sockets` is set, `socket(AF_UNIX)` is allowed.

    Raises `SandboxUnavailableError` if libseccomp is missing."""
    pyseccomp = _library()
    forbidden, absent = pyseccomp.ERRNO(errno.EPERM), pyseccomp.ERRNO(errno.ENOSYS)
    answers = {"refused": forbidden, "absent": absent, "pretended": pyseccomp.ERRNO(0)}
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)

    def deny(action: int, name: str, *arguments: object) -> None:
        try:
            number = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
        except ValueError:
            number = -1
        if number == -1:  # this version of libseccomp does not know the call
            number = _NUMBERS.get(name, -1)
        if number >= 0:  # the number is negative if this architecture lacks the call
            rules.add_rule(action, number, *arguments)

    for name in (*_FORBIDDEN, *_UNCHARGED):
        deny(forbidden, name)
    for name in _ABSENT:
        deny(absent, name)
    for flag in _CLONE_NEW:
        deny(forbidden, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    for request in (_TIOCSTI, _TIOCLINUX):
        deny(forbidden, "ioctl", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, _INT, request))
    allowed = {_AF_INET, _AF_INET6} | ({_AF_UNIX} if unix_sockets else set())
    for family in range(64):
        if family not in allowed:
            deny(forbidden, "socket", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, _INT, family))
    for bit in range(6, 32):
        deny(forbidden, "socket", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, 1 << bit, 1 << bit))
    for family in range(64):
        if family not in (_AF_UNIX, _AF_INET, _AF_INET6):
            deny(forbidden, "socketpair", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, _INT, family))

    for rule in more:
        if rule.argument is None:
            deny(answers[rule.answer], rule.call)
        elif rule.mask:
            masked = pyseccomp.Arg(rule.argument, pyseccomp.MASKED_EQ, rule.mask, rule.value)
            deny(answers[rule.answer], rule.call, masked)
        else:
            deny(answers[rule.answer], rule.call, pyseccomp.Arg(rule.argument, pyseccomp.NE, rule.value))

    return _exported(rules)


# A process that only computes needs these calls for memory, time, and descriptors that are already open.
_COMPUTING = (
    "read readv recvfrom recvmsg write writev sendto sendmsg poll ppoll select pselect6"
    " close close_range fstat fstat64 lseek _llseek"
    " brk mmap mmap2 munmap mremap mprotect madvise membarrier"
    " futex futex_time64 set_robust_list get_robust_list rseq restart_syscall sched_yield sched_getaffinity"
    " rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack rt_sigpending"
    " clock_gettime clock_gettime64 clock_getres gettimeofday time times nanosleep clock_nanosleep getrusage"
    " getpid gettid getppid getuid geteuid getgid getegid getrandom uname sysinfo getcwd"
    " getrlimit ugetrlimit setrlimit exit exit_group"
).split()


@functools.cache
def computing_only() -> bytes:
    """Returns the filter for a process that may only compute and use descriptors that are already open. All other
    system calls are refused.

    Raises `SandboxUnavailableError` if libseccomp is missing."""
    pyseccomp = _library()
    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    for name in _COMPUTING:
        with contextlib.suppress(ValueError):  # this architecture or this version of libseccomp may not have the call
            rules.add_rule(pyseccomp.ALLOW, name)
    # A process may only change its own limits.
    rules.add_rule(pyseccomp.ALLOW, "prlimit64", pyseccomp.Arg(0, pyseccomp.EQ, 0))
    return _exported(rules)


def _library() -> Any:
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError) as error:
        raise SandboxUnavailableError(
            "the sandbox needs libseccomp; run `apt-get install libseccomp2` and `pip install pyseccomp`"
        ) from error
    return pyseccomp


def _exported(rules: Any) -> bytes:
    descriptor = os.memfd_create("seccomp")
    with os.fdopen(descriptor, "rb") as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()
