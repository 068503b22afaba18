"""Signed statements about code: which key attests which level, and which keys are trusted.

`keys.py` and `agent.py` sign statements, `envelope.py` writes and reads them, `trust.py` decides which keys are
trusted, and `bundles.py` adds statements to a paper's code and removes them. Imports only the model, errors and
files."""
