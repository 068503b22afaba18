"""Writes all generated pages: `python -m scripts.reference`."""

from scripts.reference.pages import FOLDER, pages

for name, text in pages().items():
    (FOLDER / name).write_text(text, encoding="utf-8")
