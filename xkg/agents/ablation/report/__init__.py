"""Renders a campaign as a Markdown report.

All text from a repository or a model is escaped. May import: the definitions in ablation's other modules."""
