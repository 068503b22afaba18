import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build.codebases import codebase_of
from xkg.build.guided.lookup import Asking, Lookup

FILES = {
    "core.py": "class Net:\n    def fit(self, x):\n        return x + 1\n\n\ndef run(net):\n    return net.fit(2)\n",
    "long.py": "\n".join(f"x{n} = {n}" for n in range(400)),
    "fast.cpp": "int add(int a, int b) {\n  return a + b;\n}\n",
    "conf.yaml": "optim:\n  lr: 0.01\n",
}
CODE = codebase_of(FILES)


def shown(*, open: tuple[str, ...] = (), search: tuple[str, ...] = ()) -> str:
    more = Lookup(CODE).more(Asking(open=open, search=search))
    assert more is not None
    return more.text


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("core.py::Net.fit", "# --- core.py:2-3\ndef fit(self, x):\n    return x + 1\n"),
        ("fit", "# --- core.py:2-3\ndef fit"),
        ("core.py:6-7", "# --- core.py:6-7\ndef run(net):\n    return net.fit(2)\n"),
        ("core.py:7-99", "# --- core.py:7-8\nreturn net.fit(2)\n"),
        ("core.py", "# --- core.py:1-8\nclass Net:"),
        ("conf.yaml", "# --- conf.yaml\n# 2: optim.lr = 0.01\n"),
        ("long.py", "x249 = 249\n# the file continues to line 400\n"),
        ("/etc/passwd", "# --- '/etc/passwd': no such file, function or class\n"),
        ("::", "no such file, function or class"),
    ],
)
def test_a_place_is_a_file_some_of_its_lines_or_a_symbol(place: str, text: str) -> None:
    assert text in shown(open=(place,))


def test_a_text_is_found_in_code_and_configuration() -> None:
    assert shown(search=("fit(", "lr", "gone")).split("\n\n") == [
        "# --- lines with 'fit('\n# core.py:2: def fit(self, x):\n# core.py:7: return net.fit(2)",
        "# --- lines with 'lr'\n# conf.yaml:2: optim.lr = 0.01",
        "# --- lines with 'gone'\n# none\n",
    ]
    many = shown(search=("x",))
    assert many.count("# long.py:") < 40
    assert "more lines" in many


def test_a_reply_is_bounded_and_says_so() -> None:
    text = shown(open=("long.py",) * 50)
    assert len(text) < 50_000
    assert "this reply is full" in text


@given(st.lists(st.text(alphabet="core.py:0123456789-:Netfi ", max_size=25), max_size=3))
def test_any_wish_gets_a_reply(wishes: list[str]) -> None:
    assert Lookup(CODE).more(Asking(open=("x", *wishes), search=tuple(wishes))) is not None
