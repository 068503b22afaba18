"""Defines a language model's four roles in a campaign: hypothesis, generation (with one round of fixes), reflection and
analysis. Each role has a prompt and a typed answer. `team.py` combines the roles and checks the answers against the
code.

May import: ablation's values, questions, parsing, reproduction and report, and the layers below agents."""
