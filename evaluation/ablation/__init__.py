"""Measures which order of candidates finds the important components of a method in the fewest runs. The methods are
generated, so the important components are known.

    python -m evaluation.ablation [--final]
    python -m evaluation.ablation.jobs         compares two jobs with one
"""
