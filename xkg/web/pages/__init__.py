"""The pages. Each module queries the graph and provides the values for one page's template.

May import from the rest of `xkg.web`, except the routes (`app.py`), `paper_file.py` and the report, but not from the
command line.
"""
