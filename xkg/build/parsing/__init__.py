"""Papers and repositories, parsed in a confined process: what is asked of it, and what it does.

May import: paper, code, repositories, and what lies below build.
"""
