"""What commands do with a graph that is built: open it, list what it holds, compare, link, copy and audit it.

May import everything below xkg.commands; nothing of builds and servers.
"""
