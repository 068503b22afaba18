"""Rounds of candidates: which to run next, and their trials.

May import: the task, candidates, outcomes, running and roles of ablation."""
