"""Which files of a repository are tests, by their names."""

import re

_TEST_FILE = re.compile(r"(^|/)(tests?/.*|test_[^/]*|[^/]*_test|conftest)\.py$")


def is_test_file(path: str) -> bool:
    """Whether a file of Python is a test, as pytest and unittest find them, or is in a folder of tests."""
    return _TEST_FILE.search(path) is not None
