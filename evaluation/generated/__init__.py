"""Generates benchmark inputs: a paper with its repository, graphs of any size, and perturbed versions of real
graphs."""
