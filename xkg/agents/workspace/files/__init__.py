"""Manages the files: the starter code, its versions, and edits to it. Exports results as patches or branches.

May import: the layers below agents."""
