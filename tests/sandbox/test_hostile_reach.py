"""Tests that hostile code cannot reach the network, sockets, files, variables, other processes or the kernel."""

import os
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.conftest import Attack, as_ordinary_user, interpreter_is_closed

pytestmark = pytest.mark.product("each runner × each hostile act", "runner", "every_way")

_SEEN = {"bubblewrap": 2, "bubblewrap, warm": 3, "container": 2, "landlock": 0}
"""Processes that a job sees, by runner."""


@pytest.fixture
def listener() -> Iterator[tuple[int, list[object]]]:
    """Provides a TCP listener on loopback that records its clients."""
    came: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        done = threading.Event()

        def accept() -> None:
            while not done.is_set():
                try:
                    connection, address = server.accept()
                except TimeoutError:
                    continue
                came.append(address)
                connection.close()

        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1], came
        done.set()
        thread.join()


def test_the_host_s_loopback_is_out_of_reach(every_way: Attack, listener: tuple[int, list[object]]) -> None:
    port, came = listener
    outcome = every_way(
        """
        import socket, sys
        try:
            socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=2).sendall(b"out")
            print("connected")
        except OSError as error:
            print("refused", error)
        """,
        str(port),
    )
    assert outcome.ok
    assert outcome.output.startswith("refused")
    assert came == []


def test_there_is_no_route_and_no_name_service(every_way: Attack) -> None:
    outcome = every_way(
        """
        import socket
        for family, address in ((socket.AF_INET, ("192.0.2.1", 80)), (socket.AF_INET6, ("2001:db8::1", 80))):
            try:
                with socket.socket(family, socket.SOCK_DGRAM) as s:
                    s.sendto(b"x", address); print("sent")
            except OSError as error:
                print("refused")
        try:
            socket.getaddrinfo("example.org", 443); print("resolved")
        except OSError:
            print("refused")
        print(sorted(name for _, name in socket.if_nameindex()) if hasattr(socket, "if_nameindex") else "")
        """
    )
    assert outcome.output.splitlines()[:3] == ["refused"] * 3


def test_unix_sockets_of_the_host_are_out_of_reach(every_way: Attack, tmp_path: Path) -> None:
    path = tmp_path / "s"
    abstract = f"xkg-{uuid.uuid4()}"
    with socket.socket(socket.AF_UNIX) as by_path, socket.socket(socket.AF_UNIX) as by_name:
        by_path.bind(str(path))
        by_path.listen()
        by_name.bind("\0" + abstract)
        by_name.listen()
        outcome = every_way(
            """
            import socket, sys
            for address in (sys.argv[1], "\\0" + sys.argv[2], "/run/docker.sock", "/var/run/dbus/system_bus_socket"):
                try:
                    socket.socket(socket.AF_UNIX).connect(address); print("connected")
                except OSError:
                    print("refused")
            left, right = socket.socketpair(); left.send(b"a"); print(right.recv(1))
            """,
            str(path),
            abstract,
        )
    assert outcome.output.splitlines() == ["refused"] * 4 + ["b'a'"]


def test_address_families_that_a_network_namespace_does_not_contain(every_way: Attack) -> None:
    outcome = every_way(
        """
        import ctypes, socket
        libc = ctypes.CDLL(None, use_errno=True)
        families = {"unix": 1, "netlink": 16, "packet": 17, "alg": 38, "vsock": 40, "xdp": 44, "future": 77}
        for name, family in families.items():
            for value in (family, family | 1 << 32):  # the kernel reads only the lower half
                print(name, libc.syscall(41 if socket else 0, ctypes.c_long(value), 3, 0), ctypes.get_errno())
        """
        if os.uname().machine == "x86_64"
        else "print('other architecture')"
    )
    assert outcome.ok
    for line in outcome.output.splitlines():
        assert "other" in line or line.split()[1:] == ["-1", "1"], line


def test_secrets_in_files_and_variables(every_way: Attack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = f"secret-{uuid.uuid4()}"
    monkeypatch.setenv("XKG_TEST_TOKEN", secret)
    home = Path.home()
    in_home = home / f".xkg-test-{uuid.uuid4()}"
    in_clone = Path(__file__).parents[2] / f".xkg-test-{uuid.uuid4()}"
    places = [tmp_path / "secret", in_home, in_clone]
    try:
        for place in places:
            place.write_text(secret)
            place.chmod(0o644)
        outcome = every_way(
            """
            import glob, os, sys
            seen = dict(os.environ)
            for place in (*sys.argv[1:], "/etc/shadow", "/etc/machine-id", "/etc/resolv.conf", "/proc/1/environ",
                          "/proc/1/root/etc/shadow", "/proc/1/cwd/secret", "/proc/kcore", "/dev/mem", "/dev/sda",
                          *glob.glob("/proc/[0-9]*/environ"), *glob.glob("/proc/[0-9]*/root" + sys.argv[1])):
                try:
                    seen[place] = open(place, "rb").read(5000).decode("latin-1")
                except OSError:
                    pass
            for top in ("/home", "/root", "/etc", "/mnt", "/var", "/opt", "/srv", "/run", "/tmp"):
                for folder, _, files in os.walk(top):
                    if "/python" not in folder and "/.pyenv/" not in folder + "/" and "alternatives" not in folder:
                        print(folder, files)
            print(seen)
            """,
            *map(str, places),
            *(f"/proc/{process}/{name}" for process in (os.getpid(), os.getppid()) for name in ("environ", "mem")),
        )
    finally:
        for place in places:
            place.unlink(missing_ok=True)
    assert outcome.ok
    assert secret not in outcome.output
    assert "XKG_TEST_TOKEN" not in outcome.output
    hidden = ("/etc/shadow'", "kcore", "/dev/mem")
    # An image has its own files in /etc, which contain nothing from this machine.
    for name in (*hidden, *(() if outcome.runner == "container" else ("resolv.conf", "machine-id"))):
        assert name not in outcome.output


def test_nothing_outside_scratch_can_be_written(every_way: Attack, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "package.py").write_text("value = 1")
    site.chmod(0o777)
    (site / "package.py").chmod(0o666)
    tmp_path.chmod(0o777)
    if os.geteuid() == 0 and (user := as_ordinary_user()):
        os.chown(site / "package.py", int(user[2]), -1)
    before = (site / "package.py").stat()
    outcome = every_way(
        f"""
        import os, sys, sysconfig, tempfile
        import package
        mine = package.__file__
        places = ["/x", "/usr/x", "/usr/bin/python3", "/etc/passwd", "/etc/x", "/dev/x", "/proc/sys/kernel/hostname",
                  "/proc/sysrq-trigger", "/proc/self/oom_score_adj", f"/proc/{{os.getppid()}}/oom_score_adj",
                  os.path.dirname(mine) + "/x", mine, {str(tmp_path)!r} + "/x", sys.executable,
                  sysconfig.get_path("purelib") + "/x", sysconfig.get_path("stdlib") + "/x.py", "/var/tmp/x", "ok"]
        for place in places:
            try:
                with open(place, "a") as file:
                    file.write("x")
                print("wrote", place)
            except OSError:
                pass
        for change in (lambda: os.unlink(mine), lambda: os.rename(os.path.dirname(mine), "/gone"),
                       lambda: os.mknod(tempfile.gettempdir() + "/null", 0o20666, 0x103), lambda: os.truncate(mine, 0),
                       lambda: os.open(mine, os.O_RDONLY | os.O_TRUNC), lambda: os.chown(mine, os.getuid(), -1),
                       lambda: os.link(mine, tempfile.gettempdir() + "/link"), lambda: os.rename(mine, "package.py"),
                       lambda: os.setxattr(mine, "user.x", b"x")):
            try:
                change(); print("changed")
            except OSError:
                pass
        for change in (lambda: os.chmod(mine, 0), lambda: os.utime(mine, (1, 1))):  # may be told that it is done
            try:
                change()
            except OSError:
                pass
        """,
        site=site,
    )
    assert outcome.ok, outcome.output
    assert outcome.output.splitlines() == ["wrote ok"]
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    assert [path.name for path in site.iterdir()] == ["package.py"]
    after = (site / "package.py").stat()
    assert (after.st_mode, after.st_mtime, after.st_ctime) == (before.st_mode, before.st_mtime, before.st_ctime)
    assert (site / "package.py").read_text() == "value = 1"


def test_links_lead_nowhere(every_way: Attack, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden words")
    site = tmp_path / "site"
    site.mkdir()
    (site / "package.py").write_text("")
    (site / "link").symlink_to(tmp_path / "secret")
    (site / "up").symlink_to("..")
    outcome = every_way(
        """
        import os, sys
        import package
        site = os.path.dirname(package.__file__)
        os.symlink(sys.argv[1], "link"); os.symlink("/proc/1/root", "root"); os.symlink("../../../../..", "up")
        for place in ("link", "root" + sys.argv[1], "up" + sys.argv[1], site + "/link", site + "/up/secret",
                      "/proc/self/root/../.." + sys.argv[1], "/../.." + sys.argv[1]):
            try:
                print(open(place).read())
            except OSError:
                print("refused")
        """,
        str(tmp_path / "secret"),
        site=site,
    )
    assert outcome.output.splitlines() == ["refused"] * 7


def test_other_processes_can_be_neither_seen_nor_ended(every_way: Attack) -> None:
    command = [*as_ordinary_user(), sys.executable, "-c", "input('host process')"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as victim:
        try:
            outcome = every_way(
                """
                import glob, os, resource, signal, sys
                for target in (int(sys.argv[1]), int(sys.argv[2]), 1):
                    try:
                        os.kill(target, signal.SIGKILL)
                    except OSError:
                        pass
                named = [f"/proc/{number}/cmdline" for number in sys.argv[1:]]
                for path in (*glob.glob("/proc/[0-9]*/cmdline"), *named):
                    try:
                        print(path, open(path, "rb").read().replace(b"\\0", b" "))
                    except OSError:
                        pass
                for target in map(int, sys.argv[1:]):
                    for change in (lambda: os.setpriority(os.PRIO_PROCESS, target, 19), lambda: os.setpgid(target, 0),
                                   lambda: resource.prlimit(target, resource.RLIMIT_NOFILE, (3, 3)),
                                   lambda: os.sched_setaffinity(target, {0}),
                                   lambda: os.readlink(f"/proc/{target}/exe"),
                                   lambda: signal.pidfd_send_signal(os.pidfd_open(target), signal.SIGKILL)):
                        try:
                            change(); print("reached", target)
                        except OSError:
                            pass
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                try:
                    os.kill(-1, signal.SIGTERM)
                except OSError:
                    pass
                print("end")
                """,
                str(victim.pid),
                str(os.getpid()),
            )
            assert victim.poll() is None
        finally:
            victim.kill()
    assert "host process" not in outcome.output
    assert "pytest" not in outcome.output
    assert "reached" not in outcome.output
    assert outcome.output.count("/cmdline") == _SEEN[outcome.runner]
    assert outcome.output.endswith("end\n")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of system calls are those of x86-64")
def test_calls_that_reach_the_kernel_or_other_processes(every_way: Attack) -> None:
    outcome = every_way(
        """
        import ctypes, os, sys
        libc = ctypes.CDLL(None, use_errno=True)
        child = os.fork()
        if not child:
            import time; time.sleep(5); os._exit(0)
        calls = dict(ptrace_attach=(101, 16, child, 0, 0), ptrace_traceme=(101, 0, 0, 0, 0), seize=(101, 0x4206, child),
            vm_readv=(310, child, 0, 0, 0, 0, 0), vm_writev=(311, child, 0, 0, 0, 0, 0), getfd=(438, 3, 0, 0),
            unshare_user=(272, 0x10000000), unshare_net=(272, 0x40000000), setns=(308, 0, 0),
            clone_user=(56, 0x10000000 | 17, 0, 0, 0, 0), clone_pid=(56, 0x20000000 | 17, 0, 0, 0, 0),
            clone3=(435, 0, 0), io_uring=(425, 8, 0), bpf=(321, 0, 0, 0), perf=(298, 0, 0, -1, -1, 0),
            userfaultfd=(323, 0), keyctl=(250, 0, -3, 0), add_key=(248, 0, 0, 0, 0, 0), mount=(165, 0, 0, 0, 0, 0),
            umount=(166, b"/proc", 2), pivot=(155, b".", b"."), chroot=(161, b"."), open_tree=(428, -100, b".", 1),
            fsopen=(430, b"tmpfs", 0), memfd=(319, b"x", 0), shmget=(29, 0, 4096, 0o1600), handle=(304, -100, 0, 0),
            init_module=(175, 0, 0, 0), kexec=(246, 0, 0, 0, 0), reboot=(169, 0, 0, 0, 0), swapon=(167, b"/x", 0),
            syslog=(103, 3, 0, 0), settime=(227, 0, 0), hostname=(170, b"x", 1), setuid=(105, 0), personality=(135, 8))
        for name, (number, *arguments) in calls.items():
            ctypes.set_errno(0)
            result = libc.syscall(number, *arguments)
            if result == 0 and name.startswith("clone"):
                os._exit(0)
            print(name, result, ctypes.get_errno())
        os.kill(child, 9)
        """
    )
    lines = [line.split() for line in outcome.output.splitlines()]
    assert outcome.ok, outcome.output
    assert len(lines) == 36
    for name, result, number in lines:
        # The error is EPERM, or ENOSYS for system calls that callers can do without. In a user namespace that does not
        # map 0, setuid(0) fails with EINVAL.
        assert (result, number) in {("-1", "1"), ("-1", "38")} or (name, number) == ("setuid", "22"), name


def test_the_job_is_nobody_without_rights(every_way: Attack) -> None:
    outcome = every_way(
        """
        import os
        status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
        print(os.getuid() == os.geteuid() == os.getgid() != 0, os.getgroups() in ([], [os.getgid()]))
        print(*(int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")))
        print(status["NoNewPrivs"], status["Seccomp"], os.environ["PYTHONHASHSEED"], os.environ["OMP_NUM_THREADS"])
        print(os.listdir("/proc/self/fd") == ["0", "1", "2", "3"], os.isatty(0), os.getcwd() == os.path.expanduser("~"))
        try:
            os.open("/dev/tty", os.O_RDWR); print("terminal")
        except OSError:
            print("no terminal")
        """
    )
    rights = "0 0 0 0"
    if outcome.runner == "landlock" and interpreter_is_closed():
        rights = "4 4 4 4"  # CAP_DAC_READ_SEARCH allows entering the closed folder
    assert outcome.output.splitlines() == [
        "True True",
        rights,
        "1 2 0 1",
        "True False True",
        "no terminal",
    ]
