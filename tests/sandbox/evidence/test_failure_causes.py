"""Tests the classification of causes with real output from interpreters and libraries."""

import pytest

from xkg.sandbox.evidence.failure_causes import Cause, cause_of, last_error, missing_modules
from xkg.sandbox.runner import Outcome

IN_TEST = """Traceback (most recent call last):
  File "/tmp/job/harness.py", line 71, in <module>
    main()
  File "/tmp/job/harness.py", line 49, in main
    exec(test, module.__dict__)
  File "/tmp/job/test.py", line 4, in <module>
    run()
"""
IN_SITE = IN_TEST + '  File "/site/numpy/__init__.py", line 397, in __getattr__\n    raise AttributeError(...)\n'


def ended(output: str, how: str = "exited") -> Outcome:
    return Outcome.model_validate(
        {
            "ended": how,
            "exit_code": 1 if how == "exited" else None,
            "output": output,
            "seconds": 1,
            "peak_memory_mb": 1,
            "runner": "none",
            "command": "",
        }
    )


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("AssertionError", Cause.OWN_BUG),
        ("TypeError: Policy.__init__() got an unexpected keyword argument 'depth'", Cause.OWN_BUG),
        ("AttributeError: 'Policy' object has no attribute 'head'", Cause.OWN_BUG),
        ("ImportError: cannot import name 'absent' from 'implementation' (/tmp/job/implementation.py)", Cause.OWN_BUG),
        ("AttributeError: module 'jax' has no attribute 'tree_map'", Cause.REMOVED_API),
        ("AttributeError: `np.float_` was removed in the NumPy 2.0 release. Use `np.float64`.", Cause.REMOVED_API),
        ("AttributeError: 'DynamicCache' object has no attribute 'get_max_length'", Cause.REMOVED_API),
        ("TypeError: Trainer.__init__() got an unexpected keyword argument 'tokenizer'", Cause.REMOVED_API),
        ("ImportError: cannot import name 'AdamW' from 'transformers' (/site/transformers/__init__.py)",
         Cause.REMOVED_API),
        ("ModuleNotFoundError: No module named 'distutils'", Cause.REMOVED_API),
        ("ModuleNotFoundError: No module named 'lasagne'", Cause.MISSING_PACKAGE),
        ("ImportError: libGL.so.1: cannot open shared object file: No such file or directory", Cause.MISSING_PACKAGE),
        ("ImportError: T5Tokenizer requires the SentencePiece library but it was not found in your environment.",
         Cause.MISSING_PACKAGE),
        ("urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", Cause.DOWNLOAD),
        ("OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the "
         "cached files.\nCheck your internet connection.", Cause.DOWNLOAD),
        ("OSError: Can't load tokenizer for 'gpt2'. If you were trying to load it from 'https://…', make sure",
         Cause.DOWNLOAD),
        ("LookupError: \n***\n  Resource punkt not found.\n  Please use the NLTK Downloader to obtain it",
         Cause.DOWNLOAD),
        ("MemoryError", Cause.MEMORY),
        ("RuntimeError: [enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory: you tried",
         Cause.MEMORY),
    ],
)  # fmt: skip
def test_a_cause_is_read_from_the_last_error(said: str, cause: Cause) -> None:
    assert cause_of(ended(IN_TEST + said), frozenset({"Policy", "__init__"})) is cause


def test_an_attribute_that_a_library_refuses_in_its_own_words_was_removed() -> None:
    assert cause_of(ended(IN_SITE + "AttributeError: use numpy.float64 from now on")) is Cause.REMOVED_API
    assert cause_of(ended(IN_TEST + "AttributeError: no such setting")) is Cause.OWN_BUG


def test_the_causes_of_an_error_count_and_earlier_tracebacks_do_not() -> None:
    wrapped = (
        IN_TEST
        + "socket.gaierror: [Errno -3] Temporary failure in name resolution\n\n"
        + "The above exception was the direct cause of the following exception:\n\n"
        + IN_TEST
        + "ValueError: no tokenizer\n"
    )
    assert cause_of(ended(wrapped)) is Cause.DOWNLOAD
    handled = IN_TEST + "socket.gaierror: Temporary failure in name resolution\ngoing on\n" + IN_TEST + "KeyError: 1\n"
    assert cause_of(ended(handled)) is Cause.OWN_BUG


def test_a_run_that_was_stopped() -> None:
    retried = "Max retries exceeded with url: /gpt2 ... Retrying in 8s [Retry 5/5]."
    assert cause_of(ended(retried, "timeout")) is Cause.DOWNLOAD
    assert cause_of(ended("step 1\nstep 2", "timeout")) is Cause.TIME


def test_an_error_of_several_lines_is_read_whole() -> None:
    assert last_error(IN_TEST + "ValueError: first\nand: more\n\n") == ("ValueError", "first\nand: more")
    assert last_error("no error at all\n") == ("", "")


@pytest.mark.parametrize(
    ("error", "modules"),
    [
        ("ModuleNotFoundError: No module named 'a.b'", ["a.b"]),
        ("ImportError: Missing optional dependency 'openpyxl'.  Use pip or conda to install openpyxl.", ["openpyxl"]),
        ("ImportError: Import lxml failed", ["lxml"]),
        ("ImportError: Trying to log data to tensorboard but tensorboard is not installed.", ["tensorboard"]),
        (
            "ModuleNotFoundError: No module named 'Box2D'\n\nThe above exception was the direct cause of the following "
            "exception:\n\nTraceback (most recent call last):\nError: box2d is not installed",
            ["Box2D", "box2d"],
        ),
    ],
)
def test_the_module_that_a_library_asks_for_is_missing(error: str, modules: list[str]) -> None:
    assert missing_modules(f"Traceback (most recent call last):\n{error}\n") == modules


def test_missing_module_in_a_wrapped_log() -> None:
    log = "  │ ❱ 226 │  raise NotInstalled( │\n  DependencyNotInstalled: pygame is not     \n  installed, run it"
    assert missing_modules(log) == ["pygame"]
