"""Derives levels from runs: static checks, mutation, causes of failure.

May import: the other packages of sandbox, and the layers below."""
