"""Inputs of measurements: graphs in any format, and rows that people or models wrote.

Imports of the project: `xkg` and nothing of `evaluation`."""
