"""Compares orders of candidates on generated methods with known ground truth: which order finds the important
components in the fewest runs?

    python -m evaluation.ablation [--final]
    python -m evaluation.ablation.jobs         compares two jobs with one
"""
