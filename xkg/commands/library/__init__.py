"""Implements the commands that push papers to a library and pull papers from it.

May import: `commands.graph`, and the layers below the commands."""
