"""Runs tasks in the sandbox or on other machines, and checks candidates before they run.

May import: ablation's task, outcomes, failures, parsing and space, agents.workspace, and the layers below agents."""
