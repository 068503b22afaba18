"""The command line: each command parses arguments, calls one function of `commands`, and prints.

May import: everything; nothing imports it."""
