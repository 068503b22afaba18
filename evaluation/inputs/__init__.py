"""Reads inputs for measurements: graphs in any format, and rows written by people or models. From this project, it
imports `xkg` but nothing from `evaluation`."""
