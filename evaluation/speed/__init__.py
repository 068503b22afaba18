"""Speed, memory and size, each beside a floor, a peer or a budget of the run: `python -m evaluation.speed[.NAME]`."""
