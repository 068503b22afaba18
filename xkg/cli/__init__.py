"""The commands as a person types them: parse arguments, call one function of `commands`, print.

May import: everything; nothing imports it.
"""
