from xkg.sandbox.evidence.tracebacks import end_of_output


def traceback(*files: str, error: str = "ValueError: no") -> str:
    frames = "".join(f'  File "{file}", line 7, in f\n    x = f(x, {"y" * 200})\n' for file in files)
    return f"Traceback (most recent call last):\n{frames}{error}\n"


def test_a_deep_traceback_says_where_code_and_test_failed() -> None:
    deep = traceback("/w/test.py", "/w/implementation.py", *["/site/autograd/tracer.py"] * 40)
    end = end_of_output("begun\n" + deep)
    assert len(end) <= 2000
    assert '"/w/test.py", line 7' in end
    assert '"/w/implementation.py", line 7' in end
    assert end.count("tracer.py") == 1
    assert end.endswith("ValueError: no")


def test_a_short_output_is_whole_and_a_long_one_ends_where_it_ended() -> None:
    short = "x" * 900 + traceback("/w/test.py", "/site/a.py", "/site/b.py")
    assert end_of_output(short) == short
    assert end_of_output("a" * 5000 + "end") == ("a" * 5000 + "end")[-2000:]
    assert end_of_output(traceback("/w/test.py", error="ValueError: " + "z" * 9000)).endswith("z")
