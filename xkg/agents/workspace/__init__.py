"""Manages a private, version-controlled copy of starter code, in which agents edit and run code. The user's copy is
never changed.

May import: the layers below agents."""
