"""Output for people: results, tables, progress on stderr.

May import: commands, and the layers below them."""
