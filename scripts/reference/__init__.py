"""Generates the pages of docs/reference that come from the code: `make reference`.

The pages are committed so that they can be read in the repository. A test checks that they are up to date."""
