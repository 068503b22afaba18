"""The server over HTTP: processes, who may call, how much, what is counted and logged.

May import: tools, and the other rooms of serve.
"""
