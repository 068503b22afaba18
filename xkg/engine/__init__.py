"""Where work is done that comes in many items: processes of this machine, or a Ray cluster. What is done is not known
here: papers that are built, candidates of an ablation that run.

May import: settings, errors and files.
"""
