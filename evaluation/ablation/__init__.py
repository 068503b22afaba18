"""Selection policies on generated methods with known truth: which finds the important components with few runs?

python -m evaluation.ablation [--final]
"""
