"""The connection to the server: sessions, migrations and error messages.

May import from any layer below `store`."""
