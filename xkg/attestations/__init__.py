"""Signed statements about code: who attests which level, and whose attestations count.

`keys.py` and `agent.py` sign, `envelope.py` writes and reads a statement, `trust.py` decides whose statements count,
and `bundles.py` adds statements to a paper's code and removes them. Imports only the model, errors and files."""
