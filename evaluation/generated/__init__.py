"""Generates benchmark inputs: a paper with its repository, graphs of any size, and graphs perturbed from real
graphs."""
