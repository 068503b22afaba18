"""The repository's code, and changes of it, parsed in a confined process: its client and its tasks.

May import: space, checks, mutation and the values of ablation, the edits of workspace, and what lies below agents.
"""
