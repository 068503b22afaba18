"""A round of candidates: the arms that a policy chooses, and the candidate to run for each.

May import: selection, task, candidates and outcomes of ablation."""
