"""Implements the command line. Each command parses arguments, calls one function from `commands`, and prints its
result.

May import: everything. No other package imports this one."""
