"""How far `xkg implement` gets: runs by mode and class, judged quality, and properties of what was implemented.

`python -m evaluation.codification` has the commands, `cases/` what was tried.
"""
