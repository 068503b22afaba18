"""Provides the pages. Each module queries the graph and provides the values for one page's template.

May import from all other modules in `xkg.web`, except `app.py` and `saved_pages.py`. May not import from
the command line.
"""
