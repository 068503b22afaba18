"""A campaign as a report: Markdown, HTML with plots, and tables for a paper.

May import: what ablation's other modules define. Everything from a repository or a model is escaped.
"""
