"""Signed statements about code: who attests which level of it, and whose attestations count.

`keys.py` and `agent.py` sign, `envelope.py` writes and reads a statement, `trust.py` says whose count, `bundles.py`
puts them on the code of a paper and takes them off. Imports the model, errors and files alone.
"""
