"""Runs and edits a private, version-controlled copy of starter code. The user's copy is never changed.

`files` manages the copy, and `program` reads how the program is run and measured.

May import: the layers below agents."""
