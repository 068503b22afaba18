"""Stein variational gradient descent in numpy."""
