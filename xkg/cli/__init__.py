"""The command line: each command parses arguments, calls one function of `commands`, and prints.

May import: everything. No other package imports this one."""
