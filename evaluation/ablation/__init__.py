"""Compares orders of candidates on generated methods with known truth: which one finds the important components in few
runs?

python -m evaluation.ablation [--final]
python -m evaluation.ablation.jobs         two jobs compared with one
"""
