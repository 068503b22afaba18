"""From a target paper to the papers and repositories that are worth building around it.

May import: sources, repositories, paper and techniques of build, and what lies below build.
"""
