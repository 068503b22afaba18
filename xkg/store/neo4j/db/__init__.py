"""The connection to the server: sessions, migrations, and error messages.

May import: the layers below store."""
