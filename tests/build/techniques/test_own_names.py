from pathlib import Path

import pytest

from tests.build.techniques.papers import extracted, techniques

_FORMULA = "\n\\begin{equation}b = c\\end{equation}\n"


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("Update rule", "TS Update rule"),
        ("Egg Update", "TS Egg Update"),
        ("Sorting the wet eggs", "Sorting the wet eggs in TS"),
        ("Update the wet nests", "Update the wet nests in TS"),
        ("Egg sorting and nest marking", "Egg sorting and nest marking in TS"),
    ],
)
def test_a_role_in_the_method_is_named_after_it_and_found_by_its_heading(
    tmp_path: Path, heading: str, name: str
) -> None:
    technique = techniques(tmp_path, f"\\subsection{{{heading}}}\nWe compute it.{_FORMULA}")[heading]
    assert (technique.name, technique.aliases) == (name, (heading,))


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("Gullberg smoothing", "We smooth with the kernel of Gullberg."),
        ("Egg ReLU layer", "We apply it."),
        ("Tern forgetting by sampling", "We forget."),
        ("Wet egg sorting", "Wet egg sorting (WES) sorts eggs."),
        ("Smoothing of nests in cold months", "We smooth them."),
    ],
)
def test_what_readers_know_without_the_method_keeps_its_name(tmp_path: Path, heading: str, text: str) -> None:
    assert techniques(tmp_path, f"\\subsection{{{heading}}}\n{text}{_FORMULA}")[heading].name == heading


@pytest.mark.parametrize(("use", "name"), [("", "Nest pooling"), ("the ", "TS nest pooling")])
def test_a_term_that_other_sections_use_freely_keeps_its_name(tmp_path: Path, use: str, name: str) -> None:
    method = f"\\subsection{{Nest pooling}}\nWe compute it.{_FORMULA}\\subsection{{Egg sorting}}\n"
    found = techniques(tmp_path, method + f"We sort eggs after {use}nest pooling. " * 3)
    assert found["Nest pooling"].name == name


def test_a_method_described_in_related_work_is_not_named_after_the_paper_s_own(tmp_path: Path) -> None:
    after = "\\section{Related Work}\n\\paragraph{Clock turning.} Clock turning turns all eggs at noon.\n"
    assert "Clock turning" in {t.name for t in techniques(tmp_path, "We turn eggs at dusk.\n", after).values()}


def test_a_long_method_follows_the_name_of_its_part(tmp_path: Path) -> None:
    text = (
        "\\title{Slow Forgetful Tern Sampling}\n\\begin{document}\\maketitle\n\\section{Introduction}\n"
        "We propose Slow Forgetful Tern Sampling, which forgets.\n\\section{Method}\nWe sample terns.\n"
        f"\\subsection{{Egg objective}}\nWe compute it.{_FORMULA}\\end{{document}}\n"
    )
    names = [t.name for t in extracted(tmp_path, text).techniques]
    assert names == ["Slow Forgetful Tern Sampling", "Egg objective in Slow Forgetful Tern Sampling"]


def test_a_heading_of_several_sections_without_text_is_a_topic(tmp_path: Path) -> None:
    method = (
        "\\subsection{Careful handling}\nEggs break.\n\\subsubsection{Egg sorting}\nWe sort eggs by size.\n"
        "\\subsubsection{Nest marking}\nWe mark nests by age.\n"
    )
    assert set(techniques(tmp_path, method)) == {"TS", "Egg sorting", "Nest marking"}
