"""Signed statements about code: who attests which of its levels, and whose attestations count.

`keys.py` and `agent.py` sign, `envelope.py` writes and reads a statement, `trust.py` decides whose count, and
`bundles.py` adds them to a paper's code and removes them. Imports only the model, errors and files."""
