from xkg.sandbox.evidence.hung_stack import hung_at, without_stack

DUMP = """\
loss 0.3
Timeout (0:00:58)!
Thread 0x00007f1 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait

Thread 0x00007f2 (most recent call first):
  File "/site/jax/_src/compiler.py", line 268 in backend_compile
  File "/scratch/implementation.py", line 12 in solve
  File "/scratch/implementation.py", line 30 in fit
  File "/scratch/test.py", line 7 in <module>
  File "/scratch/harness.py", line 60 in run
"""


def test_the_own_frames_are_named_with_the_library_that_they_wait_for() -> None:
    assert hung_at(DUMP) == (
        "backend_compile (_src/compiler.py, line 268), called from solve (implementation.py, line 12), called from "
        "fit (implementation.py, line 30), called from test.py, line 7"
    )
    assert without_stack(DUMP + "after\n") == "loss 0.3\nafter\n"


def test_nothing_is_said_where_there_is_nothing() -> None:
    assert hung_at("Timeout (0:00:01)!\nThread 0x1 (most recent call first):\n  <no Python frame>\n") == ""
    assert hung_at("all went well\n") == ""
    assert without_stack("Timeout was 3\n") == "Timeout was 3\n"
