"""Five roles of a language model in a campaign, each a prompt with a typed answer: hypothesis, generation (with one fix
round), ranking, reflection, analysis. `team.py` puts them together; what they answer is held against the code.

May import: ablation's values, questions, parsing and report words, and what lies below agents.
"""
