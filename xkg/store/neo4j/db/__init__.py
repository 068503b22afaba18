"""The connection to the server: sessions, migrations, messages for a person.

May import: what lies below store.
"""
