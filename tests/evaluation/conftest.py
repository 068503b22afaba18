from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _of_no_package() -> Iterator[None]:
    """Stops Inspect from searching the files of all installed packages for a task's package, which takes two
    seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("inspect_ai._eval.task.log.get_distribution_for_object", lambda _: None)
        yield
