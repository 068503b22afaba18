"""From runs to levels: static checks, mutation, causes of failure.

May import: the other rooms of sandbox, and what lies below.
"""
