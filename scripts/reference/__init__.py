"""Writes the pages of docs/reference that follow from the code: `make reference`.

The pages are committed, so that they can be read where the repository is; a test holds them to what this writes."""
