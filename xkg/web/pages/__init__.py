"""One module per page: its graph queries, and the values for its template.

May import: the rest of xkg.web except the routes (`app.py`), `paper_file.py` and the report; not the command line.
"""
