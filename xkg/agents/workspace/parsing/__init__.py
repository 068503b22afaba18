"""A workspace's files, which are untrusted, parsed in a confined process: its client and its tasks.

May import: edits, outline and evaluation of workspace, and what lies below agents.
"""
