"""Manages the connection to the server, including sessions, migrations and error messages.

This package may import from any layer below `store`."""
