"""A private copy of starter code under version control, in which agents edit and run code. The user's copy is never
changed.

May import: the layers below agents."""
