"""A module a page: what it asks of the graph, and what its template gets.

May import the rest of xkg.web but the routes (`app.py`), `paper_file.py` and the report; nothing of the command line.
"""
