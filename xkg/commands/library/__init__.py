"""Commands that give papers to a library and take papers from one.

Imports `commands.graph` and what lies below the commands."""
