"""One module per page: its queries to the graph, and the values for its template.

May import the rest of xkg.web but the routes (`app.py`), `paper_file.py` and the report; nothing of the command line.
"""
