"""Runs candidates in rounds: chooses which candidates to run next, and tries them.

May import: ablation's task, candidates, outcomes, running and roles."""
