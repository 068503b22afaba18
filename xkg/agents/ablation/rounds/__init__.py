"""A round of candidates: which arms a policy chooses, and which candidate is run for each.

May import: selection, task, candidates and outcomes of ablation.
"""
