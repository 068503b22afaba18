"""Derives levels from runs, using static checks, mutation and causes of failure.

May import: the other packages of sandbox, and the layers below."""
