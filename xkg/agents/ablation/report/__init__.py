"""A campaign as a report: Markdown, and HTML with plots.

May import: what ablation's other modules define. Everything from a repository or a model is escaped.
"""
