from collections.abc import Sequence

from xkg.sandbox.diagnosis.completion import Completion
from xkg.sandbox.runner import Environment

ERROR = "Traceback (most recent call last):\nModuleNotFoundError: No module named '{}'"


def made(modules: Sequence[str]) -> Environment:
    return Environment(site=None, hash="-".join(modules), provided={n: f"{n}==1" for n in modules if n != "absent"})


def test_modules_are_added_one_run_after_the_other_three_times_at_most() -> None:
    completion, environment = Completion(made), made([])
    for name in ("h5py", "jinja2", "pyarrow"):
        completed = completion.after(ERROR.format(name), environment)
        assert completed is not None
        environment = completed
    assert completion.modules == ("h5py", "jinja2", "pyarrow")
    assert environment.hash == "h5py-jinja2-pyarrow"
    assert completion.after(ERROR.format("lxml"), environment) is None


def test_what_is_there_or_cannot_be_had_changes_nothing() -> None:
    completion, environment = Completion(made), made(["h5py"])
    assert completion.after(ERROR.format("h5py"), environment) is None
    assert completion.after(ERROR.format("absent"), environment) is None
    assert completion.after("ZeroDivisionError", environment) is None
    assert completion.modules == ()
