"""Runs of a task: workspaces, one run in the sandbox or on another machine, and the store of what was done already.

May import: the task, outcomes, failures, parsing and space of ablation, agents.workspace, and what lies below agents.
"""
