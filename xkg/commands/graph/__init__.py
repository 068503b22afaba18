"""Implements operations on a built graph: open it, list its contents, and compare, link, copy and audit graphs.

May import everything below xkg.commands, except builds and servers."""
