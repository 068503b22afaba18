"""Measures `xkg implement`: runs by mode and class, judged quality, and techniques of the example put back.

`python -m evaluation.codification` and `.replay` are the commands, `cases/` the tasks."""
