"""What a language model adds to search: a query in other words, the steps of a task, which rows serve.

May import: search, answers, and what lies below serve.
"""
