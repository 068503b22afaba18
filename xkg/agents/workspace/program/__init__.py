"""Reads how the starter's program is run and measured: commands, packages, executable lines and the metric.

May import: agents.workspace.files, and the layers below agents."""
