"""Controls access to pages, by token or session cookie.

May import from `xkg.serve.http` and the layers below it, but not from any page.
"""
