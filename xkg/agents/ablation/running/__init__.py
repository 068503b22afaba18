"""Runs of a task: single runs in the sandbox or on another machine, and the candidates that may run.

May import: the task, outcomes, failures, parsing and space of ablation, agents.workspace, and the layers below
agents."""
