"""What the commands do, each a function of settings to a typed result; settings become stores, embedders and
sandboxes.

May import: web, agents, serve, and what lies below.
"""
