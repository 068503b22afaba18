"""Rounds of candidates: chooses which candidates to run next, and tries them.

May import: the task, candidates, outcomes, running and roles of ablation."""
