"""Renders a campaign as a Markdown report.

May import: the definitions in ablation's other modules. All text from a repository or a model is escaped."""
