"""Prints output for people: results, tables and progress on stderr.

May import: commands, and the layers below them."""
