"""Checks that the text that is embedded for a technique marks the names of other techniques."""

from hypothesis import given
from hypothesis import strategies as st

from xkg.model import Code, Technique
from xkg.store.index_entries import Entry, encodable, vector_text

WORDS = st.text(max_size=20)


def entry(name: str, aliases: tuple[str, ...], above: tuple[str, ...], definition: str, documentation: str) -> Entry:
    technique = Technique(id="p#t", name=name, aliases=aliases, definition=definition)
    code = Code(id="p#t@1", technique="p#t", implementation="", documentation=documentation) if documentation else None
    return Entry(technique, 0, (*above, name), code)


def test_a_technique_is_found_by_its_names_first() -> None:
    text = vector_text(entry("Proximal policy", ("PPO", "clipping"), ("Agent", "Update"), "Clips the ratio.", "Doc."))
    assert text == "Proximal policy. PPO, clipping. Agent > Update. Clips the ratio.. Doc."
    assert text[text.start : text.end] == "Agent > Update"
    alone = vector_text(entry("Agent", (), (), "Acts.", ""))
    assert alone == "Agent. Acts."
    assert alone[alone.start : alone.end] == ""


@given(WORDS, st.lists(WORDS, max_size=2), st.lists(WORDS, max_size=3), WORDS, WORDS)
def test_the_context_is_the_names_above_whatever_they_are(
    name: str, aliases: list[str], above: list[str], definition: str, documentation: str
) -> None:
    text = vector_text(entry(name, tuple(aliases), tuple(above), definition, documentation))
    assert text[text.start : text.end] == encodable(" > ".join(above))
    text.encode()
