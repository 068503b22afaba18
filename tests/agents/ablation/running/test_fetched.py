import re
import shlex
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from xkg.agents.ablation.campaign import Start, run_campaign
from xkg.agents.ablation.task import Task, read_task
from xkg.agents.workspace.files.starter import read_starter
from xkg.build.parsing.parsers import Parsers
from xkg.config import SandboxSettings
from xkg.errors import BaselineError, InputError
from xkg.sandbox.select import runner_for

TRAIN = """\
import pathlib
import urllib.request

cache = pathlib.Path.home() / ".cache" / "numbers"
if not cache.exists():
    cache.parent.mkdir()
    text = urllib.request.urlopen("http://data.example.org/numbers").read().decode()
    cache.write_text(text)
    pathlib.Path("copy.txt").symlink_to(cache)
print("sum:", sum(map(float, open("copy.txt"))))
"""


class Internet(socketserver.ThreadingTCPServer):
    """Answers for every host on the internet with the same numbers. One host redirects elsewhere."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked: list[str] = []


class Answer(socketserver.StreamRequestHandler):
    server: Internet

    def handle(self) -> None:
        host = self.rfile.readline().split()[1].decode()
        if ".example.org:" in host:  # libraries in this process may ask for other hosts
            self.server.asked.append(host)
        while self.rfile.readline().strip():
            pass
        self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while self.rfile.readline().strip():
            pass
        if host.startswith("moved"):
            self.wfile.write(
                b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example.org/\r\nContent-Length: 0\r\n\r\n"
            )
        else:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n1\n2\n")


@pytest.fixture
def internet(monkeypatch: pytest.MonkeyPatch) -> Iterator[Internet]:
    with Internet() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{server.server_address[1]}")
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def start_of(parsers: Parsers, tmp_path: Path) -> object:
    def start(script: str, folder: str, **more: object) -> Start:
        repository = tmp_path / "repo"
        repository.mkdir(exist_ok=True)
        (repository / "train.py").write_text(script)
        (tmp_path / folder).mkdir()
        flags = {"repo": str(repository), "run": "python train.py", "metrics": ["sum: ([0-9.]+):max"], "seeds": [0, 1]}
        task: Task = read_task(None, {**flags, "budget": 1, "seconds": 30, "disk_mb": 64, **more})
        starter = read_starter(task.repo, tmp_path / folder / "cache")
        runner = runner_for(SandboxSettings())
        return Start(task, starter, tmp_path / folder, runner, None, parsers=parsers)

    return start


def test_the_remedy_for_a_download_works_to_the_letter(internet: Internet, start_of) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(BaselineError) as refused:
        run_campaign(start_of(TRAIN, "first"))
    told = str(refused.value)
    assert "it needs http://data.example.org/numbers at train.py:7" in told
    assert "--data PATH=FOLDER" in told
    assert internet.asked == []
    options = re.search(r"--setup .* --allow-host \S+(?=;)", told)
    assert options is not None
    words = shlex.split(options[0])
    given = {"setup": words[1], "allow_hosts": [words[3]]}
    campaign = run_campaign(start_of(TRAIN + "rate = 2.0\n", "second", **given))
    assert campaign.baseline.values == (3.0, 3.0)
    assert internet.asked == ["data.example.org:80"]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://other.example.org/", "other.example.org"),
        ("http://moved.example.org/", "elsewhere.example.org"),
        ("http://moved.example.org:8080/", "moved.example.org:8080"),
        ("http://169.254.169.254/", "169.254.169.254"),
        ("http://127.0.0.1:{port}/", ""),
    ],
)
def test_a_setup_reaches_no_other_place(internet: Internet, start_of, url: str, told: str) -> None:  # type: ignore[no-untyped-def]
    place = url.format(port=internet.server_address[1])
    script = f"import urllib.request\nurllib.request.urlopen({place!r}, timeout=5)\nprint('sum: 1')\n"
    setup = {"setup": "python train.py", "allow_hosts": ["moved.example.org"]}
    with pytest.raises(BaselineError, match=f"not allowed to reach {told}" if told else "the setup"):
        run_campaign(start_of(script, "run", **setup))
    assert internet.asked in ([], ["moved.example.org:80"])


def test_hosts_without_a_setup_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--setup"):
        read_task(None, {"repo": str(tmp_path), "run": "true", "metrics": ["x:max"], "allow_hosts": ["a.example.org"]})
