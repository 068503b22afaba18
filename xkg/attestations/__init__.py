"""Signs and reads statements about code. A statement says that a key attests a level, and the user decides which keys
to trust.

`keys.py` and `agent.py` sign statements, `envelope.py` writes and reads them, `trust.py` decides which keys are
trusted, and `bundles.py` adds statements to a paper's code and removes them. This package may import only `model`,
`errors` and `files`."""
