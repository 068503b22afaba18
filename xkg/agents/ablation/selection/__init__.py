"""Which candidates to run next: the bandit of AblateCell, or all of them.

May import: nothing of this package but candidates.
"""
