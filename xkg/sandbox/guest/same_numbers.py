"""Makes a process draw the same random numbers in every run, unless the process sets a seed itself. A sandboxed Python
process imports this module before its own code.

NumPy seeds its generators with `secrets.randbits`. PyTorch's default seed is always the same."""

import random
import secrets

random.seed(0)
secrets.randbits = random.Random(0).getrandbits  # type: ignore[assignment]
