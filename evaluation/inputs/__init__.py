"""Reads inputs for measurements: graphs in any format, and rows written by people or models. The package imports
nothing from this project except `xkg`."""
