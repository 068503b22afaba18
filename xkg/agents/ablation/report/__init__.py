"""A campaign as a report: Markdown, and HTML with plots.

May import: the definitions in ablation's other modules. All text from a repository or a model is escaped."""
