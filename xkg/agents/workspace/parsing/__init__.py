"""A workspace's files, which are untrusted, parsed in a confined process: its client and its tasks.

May import: edits and outline of workspace, and what lies below agents.
"""
