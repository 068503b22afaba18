"""A private copy of starter code under version control, in which agents edit and run; the user's is never written to.

May import: what lies below agents.
"""
