"""The four roles of a language model in a campaign, each with a prompt and a typed answer: hypothesis, generation (with
one round of fixes), reflection and analysis. `team.py` combines the roles and checks the answers against the code.

May import: ablation's values, questions, parsing, reproduction and report, and the layers below agents."""
