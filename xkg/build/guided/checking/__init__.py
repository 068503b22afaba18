"""What is wrong with a model's code of a technique, and its repair: runs, tests that prove too little, fidelity.

May import: repair_guard, and the rooms of build without a model.
"""
