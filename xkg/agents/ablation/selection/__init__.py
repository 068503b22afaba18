"""Which candidates to run next: the bandit of AblateCell, and the policies that it is compared with.

May import: nothing of this package but candidates.
"""
