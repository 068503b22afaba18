"""Asks a language model for the titles of references that could not be parsed."""

from xkg.build.curation.guide import Guide
from xkg.build.paper.document import Document
from xkg.model import Reference
from xkg.text.titles import is_title, same_title


def with_titles(document: Document, guide: Guide) -> Document:
    """Adds titles to references that have none or whose title is the whole entry. A title must appear verbatim in its
    entry and look like a title. Does not ask the model if parsing found all titles."""
    unread = [(n, each.text) for n, each in enumerate(document.references) if each.text and not _has_title(each)]
    if not unread:
        return document
    references = list(document.references)
    for place, title in guide.reference_titles([text for _, text in unread]).items():
        number, text = unread[place]
        if is_title(title) and same_title(title) in same_title(text):
            references[number] = references[number].model_copy(update={"title": title})
    return document.model_copy(update={"references": tuple(references)})


def _has_title(reference: Reference) -> bool:
    return reference.title is not None and same_title(reference.title) != same_title(reference.text or "")
