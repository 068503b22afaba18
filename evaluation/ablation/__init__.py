"""Selection policies on generated methods with known truth: which finds the important components with few runs?

python -m evaluation.ablation [--final]
python -m evaluation.ablation.switches     the product without planner, knowledge, bandit or worktrees
python -m evaluation.ablation.jobs         two jobs beside one
"""
