"""Measures `xkg implement`: runs by mode and class, judged quality, and properties of the implementations.

`python -m evaluation.codification` has the commands, `cases/` the tasks."""
