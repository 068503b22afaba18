"""Which candidates to run next: the bandit of AblateCell, or all of them.

May import: only candidates of this package."""
