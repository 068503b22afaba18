"""Writes a measurement's results as JSON and as a table, and compares them with an earlier run. The package imports
nothing from this project except `xkg`."""
