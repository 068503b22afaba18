"""What a person sees: results, tables, progress on stderr.

May import: commands, and what lies below them.
"""
