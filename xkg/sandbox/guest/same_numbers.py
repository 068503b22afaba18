"""Makes what a process draws at random the same each time, if it sets no seed of its own. A Python process of a sandbox
imports it before code does.

NumPy seeds its generators with `secrets.randbits`; PyTorch's default seed is always the same."""

import random
import secrets

random.seed(0)
secrets.randbits = random.Random(0).getrandbits  # type: ignore[assignment]
