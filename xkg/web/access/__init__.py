"""Decides who may see pages: tokens, which are exchanged once for a cookie, and the headers in every response.

May import: xkg.serve.http, and the layers below it; no page.
"""
