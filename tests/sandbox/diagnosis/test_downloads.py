import json

from xkg.sandbox.diagnosis.downloads import reached, stated_size, wanted

RECORD = "\n".join(
    [
        json.dumps(["telemetry.example.org", "443", "", "wandb"]),
        json.dumps(["https://mirror.example.org/mnist/train.gz", "", "train.py:8", "torchvision"]),
        json.dumps(["mirror.example.org", "443", "train.py:8", "torchvision"]),
        json.dumps(["127.0.0.1", "29500", "train.py:9", "torch"]),
        "no JSON",
        json.dumps(["too", "few"]),
    ]
)
FRAME = 'Traceback (most recent call last):\n  File "/tmp/job/work/train.py", line {}, in <module>\n    {}\n{}\n'


def test_what_a_failed_statement_tried_to_reach_is_what_it_wanted() -> None:
    found = reached(RECORD)
    assert [(each.host, each.port) for each in found][1:] == [("mirror.example.org", 443)] * 2
    failed = FRAME.format(8, "MNIST('data', download=True)", "RuntimeError: Error downloading train.gz")
    [first, _] = wanted(found, failed)
    assert (first.address, first.library) == ("https://mirror.example.org/mnist/train.gz", "torchvision")
    assert wanted(found, FRAME.format(12, "1 / 0", "ZeroDivisionError: division by zero")) == ()
    assert wanted(found[:1], "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>")


def test_a_host_that_curl_did_not_resolve_is_wanted_whatever_python_raises_later() -> None:
    curl = "Failed to perform, curl: (6) Could not resolve host: quotes.example.org. See https://curl.se/\n"
    [only] = wanted((), curl * 2 + FRAME.format(12, "raise ValueError", "ValueError: no data"))
    assert only.named == "quotes.example.org"


def test_a_size_is_told_if_the_output_states_it() -> None:
    assert stated_size("Downloading and preparing dataset glue/sst2 (download: 7.09 MiB, generated: 4.81 MiB)") == (
        "7.09 MiB"
    )
    assert stated_size("Downloading…\nloss 3 MB") == ""
