"""Runs of a task: workspaces, single runs in the sandbox or on another machine, and the store of finished operations.

May import: the task, outcomes, failures, parsing and space of ablation, agents.workspace, and the layers below
agents."""
