"""Who may look at pages: tokens, exchanged once for a cookie, and the headers that every answer carries.

May import xkg.serve.http and what lies below; no page.
"""
