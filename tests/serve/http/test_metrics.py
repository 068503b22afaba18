import threading
from pathlib import Path

import pytest

from xkg.serve.http.metrics import SHARED, Metrics


def test_metrics_wait_for_a_worker_that_has_created_its_file_but_not_filled_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SHARED, str(tmp_path))
    counts = tmp_path / "counter_1.db"
    counts.touch()
    filled = threading.Timer(0.1, counts.write_bytes, [bytes(8)])
    filled.start()
    try:
        assert b"xkg_papers 3.0" in Metrics(lambda: (1, 3)).text()
    finally:
        filled.join()
