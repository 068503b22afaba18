"""Speed, memory and size, each next to a floor, a peer or a budget of the same run: `python -m
evaluation.speed[.NAME]`."""
