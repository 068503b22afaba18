"""Whether the code of a graph runs today: `python -m evaluation.executability GRAPH`."""
