"""Recognises a repository's test files by their names."""

import re

_TEST_FILE = re.compile(r"(^|/)(tests?/.*|test_[^/]*|[^/]*_test|conftest)\.py$")


def is_test_file(path: str) -> bool:
    """Returns whether a Python file is a test. A test is in a test folder or has a name that pytest or unittest
    recognises."""
    return _TEST_FILE.search(path) is not None
