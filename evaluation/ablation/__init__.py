"""Measures which candidate order finds a method's important components in the fewest runs. The methods are generated,
so the important components are known.

    python -m evaluation.ablation [--final]
    python -m evaluation.ablation.jobs         compares two jobs with one
"""
